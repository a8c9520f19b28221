#include "daemon/control/remote_diagnosis.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tempo::daemon {
namespace {

constexpr std::array<std::string_view, 3> kLevels{"ok", "note", "problem"};
constexpr std::string_view kEvidence = " | ";
constexpr std::string_view kCure = " -> ";

std::uint8_t number_of(std::string_view level) {
  const auto found = std::ranges::find(kLevels, level);
  return static_cast<std::uint8_t>(found == kLevels.end() ? 1 : found - kLevels.begin());
}

// "T021 what | evidence -> cure"; the code, the evidence and the cure may be missing.
std::string text_of(const ipc::Finding& finding) {
  std::string text = finding.code.empty() ? "" : finding.code + ' ';
  text += finding.what;
  if (!finding.evidence.empty()) text += std::string(kEvidence) + finding.evidence;
  if (!finding.cure.empty()) text += std::string(kCure) + finding.cure;
  return text;
}

bool is_code(std::string_view word) {
  return word.size() == 4 && word[0] == 'T' &&
         word.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

// Cuts the part after the first separator off `text`.
std::string cut(std::string_view& text, std::string_view separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return "";
  std::string part(text.substr(at + separator.size()));
  text = text.substr(0, at);
  return part;
}

ipc::Finding finding_of(const wire::DiagnosticBody& body) {
  std::string_view text = body.text.text();
  ipc::Finding finding{.level = std::string(kLevels.at(body.level)), .what = "", .cure = ""};
  finding.cure = cut(text, kCure);
  finding.evidence = cut(text, kEvidence);
  if (is_code(text.substr(0, text.find(' ')))) {
    finding.code = text.substr(0, 4);
    text.remove_prefix(std::min<std::size_t>(5, text.size()));
  }
  finding.what = text;
  return finding;
}

}  // namespace

std::optional<wire::DiagnosticBody> RemoteDiagnosis::ask(Instant now) {
  if (asked_ && now - *asked_ < kTimeout) return std::nullopt;
  asked_ = now;
  replies_.clear();
  return wire::DiagnosticBody{.kind = wire::DiagnosticBody::Kind::ask, .question = ++question_};
}

bool RemoteDiagnosis::over(Instant now, std::size_t others) const {
  const auto complete = static_cast<std::size_t>(
      std::ranges::count_if(replies_, [](const auto& reply) { return reply.second.complete(); }));
  return !asked_ || now - *asked_ >= kTimeout || complete >= others;
}

void RemoteDiagnosis::receive(NodeId from, const wire::DiagnosticBody& body) {
  if (body.kind != wire::DiagnosticBody::Kind::answer || body.question != question_ || !asked_ ||
      body.parts > kMaxParts || (body.parts > 0 && body.part >= body.parts))
    return;
  Reply& reply = replies_[from];
  reply.parts = body.parts;
  if (body.parts > 0) reply.findings[body.part] = finding_of(body);
}

std::vector<wire::DiagnosticBody> RemoteDiagnosis::answer(
    Instant now, const wire::DiagnosticBody& question, const std::vector<ipc::Finding>& findings) {
  if (answered_ && now - *answered_ < kMinAnswerInterval) return {};
  answered_ = now;
  const std::size_t parts = std::min(findings.size(), kMaxParts);
  std::vector<wire::DiagnosticBody> bodies;
  for (std::size_t i = 0; i < std::max<std::size_t>(parts, 1); ++i) {
    wire::DiagnosticBody& body = bodies.emplace_back();
    body.kind = wire::DiagnosticBody::Kind::answer;
    body.part = static_cast<std::uint8_t>(i);
    body.parts = static_cast<std::uint8_t>(parts);
    body.question = question.question;
    if (parts == 0) break;
    const ipc::Finding& finding = findings[i];
    body.level = number_of(finding.level);
    body.text = wire::Text<wire::DiagnosticBody::kMaxText>(text_of(finding));
  }
  return bodies;
}

std::optional<RemoteDiagnosis::Answer> RemoteDiagnosis::of(NodeId host) const {
  const auto found = replies_.find(host);
  if (found == replies_.end()) return std::nullopt;
  Answer answer{.missing = found->second.parts - found->second.findings.size()};
  for (const auto& [part, finding] : found->second.findings) answer.findings.push_back(finding);
  return answer;
}

}  // namespace tempo::daemon
