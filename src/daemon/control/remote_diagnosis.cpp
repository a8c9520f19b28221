#include "daemon/control/remote_diagnosis.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tempo::daemon {
namespace {

constexpr std::array<std::string_view, 3> kLevels{"ok", "note", "problem"};
constexpr std::string_view kCure = " -> ";

std::uint8_t number_of(std::string_view level) {
  const auto found = std::ranges::find(kLevels, level);
  return static_cast<std::uint8_t>(found == kLevels.end() ? 1 : found - kLevels.begin());
}

ipc::Finding finding_of(const wire::DiagnosticBody& body) {
  const std::string_view text = body.text.text();
  const std::size_t cure = text.find(kCure);
  ipc::Finding finding{.level = std::string(kLevels.at(body.level)),
                       .what = std::string(text.substr(0, cure)),
                       .cure = ""};
  if (cure != std::string_view::npos) finding.cure = text.substr(cure + kCure.size());
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
    body.text = wire::Text<wire::DiagnosticBody::kMaxText>(
        finding.cure.empty() ? finding.what : finding.what + std::string(kCure) + finding.cure);
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
