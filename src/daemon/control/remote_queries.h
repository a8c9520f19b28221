// Questions to one other member for its operator: `tempo -H HOST status`, `members`, `locks`,
// `doctor` and `now`. They read only.
//
// The answer is the line that the other tempod would give a local client. It travels in parts
// (wire::DiagnosticBody); the asking host repeats its question with the first part that is missing
// until it has all of them, or for kTimeout. The answering host keeps a line for kKeep, so that all
// parts are of one line, and sends at most kWindow parts for one question.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/control_protocol.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "protocol/wire/datagram.h"

namespace tempo::daemon {

class RemoteQueries {
 public:
  static constexpr Nanos kTimeout = 3s;
  static constexpr Nanos kRepeat = 100ms;
  static constexpr Nanos kKeep = 5s;
  static constexpr std::size_t kMaxOpen = 16;  // questions of this host
  static constexpr std::size_t kMaxKept = 16;  // lines for other hosts, within kKeep
  static constexpr std::size_t kWindow = 16;   // parts in answer to one datagram
  static constexpr std::size_t kMaxParts = 255;
  static constexpr std::size_t kMaxBytes = kMaxParts * wire::DiagnosticBody::kMaxText;

  // `first`: number of the first question, another one for each process.
  explicit RemoteQueries(std::uint32_t first) : question_(first) {}

  // --- asking ---
  // Begins a question; returns its number. Unset: too many are open.
  std::optional<std::uint32_t> ask(Instant now, NodeId host, ipc::Verb verb);
  struct Question {
    NodeId to = kNobody;
    wire::DiagnosticBody body{};
  };
  std::vector<Question> due(Instant now);  // to send now
  Instant next() const;                    // when `due` has the next one
  void receive(NodeId from, const wire::DiagnosticBody& body);
  // The line of the other host, or a sentence for users; unset: it has not arrived yet. A result is
  // returned once.
  std::optional<Result<std::string>> result(Instant now, std::uint32_t question);
  void withdraw(std::uint32_t question) { open_.erase(question); }

  // --- answering ---
  // `line` makes the answer, or a sentence that refuses it.
  using Line = std::function<Result<std::string>(ipc::Verb verb)>;
  std::vector<wire::DiagnosticBody> answer(Instant now, NodeId from,
                                           const wire::DiagnosticBody& question, const Line& line);

 private:
  struct Open {
    NodeId host = kNobody;
    std::uint8_t verb = 0;
    Instant began{};
    Instant next{};          // time of the next repetition
    std::uint8_t parts = 0;  // 0: unknown
    std::map<std::uint8_t, std::string> texts{};
    std::optional<std::string> refusal{};
    std::uint8_t first_missing() const;
  };
  struct Kept {
    NodeId from = kNobody;
    std::uint32_t question = 0;
    Instant at{};
    Result<std::string> line{};
  };

  std::uint32_t question_;
  std::map<std::uint32_t, Open> open_;  // by number
  std::vector<Kept> kept_;              // oldest first
};

}  // namespace tempo::daemon
