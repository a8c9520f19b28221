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

ipc::Finding finding_of(const wire::DiagnosticBody& word) {
  const std::string_view text = word.text.text();
  const std::size_t cure = text.find(kCure);
  ipc::Finding finding{.level = std::string(kLevels.at(word.level)),
                       .what = std::string(text.substr(0, cure)),
                       .cure = ""};
  if (cure != std::string_view::npos) finding.cure = text.substr(cure + kCure.size());
  return finding;
}

}  // namespace

std::optional<wire::DiagnosticBody> RemoteDiagnosis::ask(Instant now) {
  if (asked_ && now - *asked_ < kPatience) return std::nullopt;
  asked_ = now;
  heard_.clear();
  return wire::DiagnosticBody{.kind = wire::DiagnosticBody::Kind::ask, .question = ++question_};
}

bool RemoteDiagnosis::over(Instant now, std::size_t others) const {
  const auto complete = static_cast<std::size_t>(
      std::ranges::count_if(heard_, [](const auto& heard) { return heard.second.whole(); }));
  return !asked_ || now - *asked_ >= kPatience || complete >= others;
}

void RemoteDiagnosis::receive(NodeId from, const wire::DiagnosticBody& word) {
  if (word.kind != wire::DiagnosticBody::Kind::answer || word.question != question_ || !asked_ ||
      word.parts > kMaxParts || (word.parts > 0 && word.part >= word.parts))
    return;
  Heard& heard = heard_[from];
  heard.parts = word.parts;
  if (word.parts > 0) heard.findings[word.part] = finding_of(word);
}

std::vector<wire::DiagnosticBody> RemoteDiagnosis::answer(
    Instant now, const wire::DiagnosticBody& question, const std::vector<ipc::Finding>& findings) {
  if (answered_ && now - *answered_ < kBetweenAnswers) return {};
  answered_ = now;
  const std::size_t parts = std::min(findings.size(), kMaxParts);
  std::vector<wire::DiagnosticBody> words;
  for (std::size_t i = 0; i < std::max<std::size_t>(parts, 1); ++i) {
    wire::DiagnosticBody& word = words.emplace_back();
    word.kind = wire::DiagnosticBody::Kind::answer;
    word.part = static_cast<std::uint8_t>(i);
    word.parts = static_cast<std::uint8_t>(parts);
    word.question = question.question;
    if (parts == 0) break;
    const ipc::Finding& finding = findings[i];
    word.level = number_of(finding.level);
    word.text = wire::Text<wire::DiagnosticBody::kMaxText>(
        finding.cure.empty() ? finding.what : finding.what + std::string(kCure) + finding.cure);
  }
  return words;
}

std::optional<RemoteDiagnosis::Answer> RemoteDiagnosis::of(NodeId host) const {
  const auto found = heard_.find(host);
  if (found == heard_.end()) return std::nullopt;
  Answer answer{.missing = found->second.parts - found->second.findings.size()};
  for (const auto& [part, finding] : found->second.findings) answer.findings.push_back(finding);
  return answer;
}

}  // namespace tempo::daemon
