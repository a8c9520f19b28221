#include "daemon/control/remote_queries.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

namespace tempo::daemon {
namespace {

using wire::DiagnosticBody;
using Kind = DiagnosticBody::Kind;

// By their numbers on the wire.
constexpr std::array kVerbs{ipc::Verb::status, ipc::Verb::members, ipc::Verb::locks,
                            ipc::Verb::doctor, ipc::Verb::now};

}  // namespace

// --- asking ---

std::optional<std::uint32_t> RemoteQueries::ask(Instant now, NodeId host, ipc::Verb verb) {
  const auto* const found = std::ranges::find(kVerbs, verb);
  if (open_.size() >= kMaxOpen || found == kVerbs.end()) return std::nullopt;
  ++question_;
  open_[question_] = {.host = host,
                      .verb = static_cast<std::uint8_t>(found - kVerbs.begin()),
                      .began = now,
                      .next = now};
  return question_;
}

std::uint8_t RemoteQueries::Open::first_missing() const {
  std::uint8_t part = 0;
  for (const auto& [number, text] : texts) {
    if (number != part) break;
    ++part;
  }
  return part;
}

std::vector<RemoteQueries::Question> RemoteQueries::due(Instant now) {
  std::vector<Question> questions;
  for (auto& [number, open] : open_) {
    if (now < open.next) continue;
    open.next = now - open.began < kTimeout ? now + kRepeat : kNever;
    questions.push_back({.to = open.host,
                         .body = {.kind = Kind::query,
                                  .part = open.first_missing(),
                                  .parts = open.verb,
                                  .question = number}});
  }
  return questions;
}

Instant RemoteQueries::next() const {
  Instant first = kNever;
  for (const auto& [number, open] : open_) first = std::min(first, open.next);
  return first;
}

void RemoteQueries::receive(NodeId from, const DiagnosticBody& body) {
  const auto found = open_.find(body.question);
  if (body.kind != Kind::query_answer || found == open_.end() || found->second.host != from) return;
  Open& open = found->second;
  if (body.level == DiagnosticBody::kRefused) {
    open.refusal = body.text.text();
    return;
  }
  if (body.parts == 0 || body.part >= body.parts || (open.parts != 0 && open.parts != body.parts))
    return;
  open.parts = body.parts;
  open.texts[body.part] = body.text.text();
  // The next window, as soon as this one is complete.
  const std::size_t arrived = open.first_missing();
  if (arrived % kWindow == 0 && arrived == open.texts.size() && arrived < open.parts)
    open.next = Instant{};
}

std::optional<Result<std::string>> RemoteQueries::result(Instant now, std::uint32_t question) {
  const auto found = open_.find(question);
  if (found == open_.end()) return std::unexpected(std::string("the question was withdrawn"));
  const Open& open = found->second;
  std::optional<Result<std::string>> result;
  if (open.refusal) {
    result = std::unexpected(*open.refusal);
  } else if (open.parts != 0 && open.texts.size() == open.parts) {
    std::string line;
    for (const auto& [part, text] : open.texts) line += text;
    result = line;
  } else if (now - open.began >= kTimeout) {
    result = std::unexpected(fmt::format(
        "no answer within {} s; 'tempo members' shows whether the machine is up, and an earlier "
        "version does not answer",
        kTimeout / 1s));
  }
  if (result) open_.erase(found);
  return result;
}

// --- answering ---

std::vector<DiagnosticBody> RemoteQueries::answer(Instant now, NodeId from,
                                                  const DiagnosticBody& question,
                                                  const Line& line) {
  if (question.kind != Kind::query || question.parts >= kVerbs.size()) return {};
  std::erase_if(kept_, [now](const Kept& kept) { return now - kept.at >= kKeep; });
  auto kept = std::ranges::find_if(kept_, [&](const Kept& one) {
    return one.from == from && one.question == question.question;
  });
  if (kept == kept_.end()) {
    if (kept_.size() >= kMaxKept) return {};
    Result<std::string> made = line(kVerbs.at(question.parts));
    if (made && made->size() > kMaxBytes)
      made = std::unexpected(fmt::format(
          "the answer has {} bytes, more than {}; ask on that machine", made->size(), kMaxBytes));
    kept_.push_back(
        {.from = from, .question = question.question, .at = now, .line = std::move(made)});
    kept = std::prev(kept_.end());
  }
  DiagnosticBody body{.kind = Kind::query_answer, .question = question.question};
  if (!kept->line) {
    body.level = DiagnosticBody::kRefused;
    body.text = wire::Text<DiagnosticBody::kMaxText>(kept->line.error());
    return {body};
  }
  const std::string& whole = *kept->line;
  constexpr std::size_t kPart = DiagnosticBody::kMaxText;
  const std::size_t parts = std::max<std::size_t>((whole.size() + kPart - 1) / kPart, 1);
  std::vector<DiagnosticBody> bodies;
  for (std::size_t i = question.part; i < std::min(parts, question.part + kWindow); ++i) {
    body.part = static_cast<std::uint8_t>(i);
    body.parts = static_cast<std::uint8_t>(parts);
    body.text =
        wire::Text<DiagnosticBody::kMaxText>(std::string_view(whole).substr(i * kPart, kPart));
    bodies.push_back(body);
  }
  return bodies;
}

}  // namespace tempo::daemon
