// Asks all other hosts for their findings and collects the answers.
//
// A question is answered by one datagram (wire::DiagnosticBody) per finding. It ends when all known
// hosts have answered, or after one second; missing parts are reported as missing. A host answers
// at most twice a second, because a small question causes many answers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/control_protocol.h"
#include "base/ids.h"
#include "base/units.h"
#include "protocol/wire/datagram.h"

namespace tempo::daemon {

class RemoteDiagnosis {
 public:
  static constexpr Nanos kTimeout = 1s;
  static constexpr Nanos kMinAnswerInterval = 500ms;
  static constexpr std::size_t kMaxParts = 8;

  // The question to broadcast; unset: one is already in progress.
  std::optional<wire::DiagnosticBody> ask(Instant now);
  bool over(Instant now, std::size_t others) const;

  void receive(NodeId from, const wire::DiagnosticBody& body);

  // The answers to send; empty if this host has just answered.
  std::vector<wire::DiagnosticBody> answer(Instant now, const wire::DiagnosticBody& question,
                                           const std::vector<ipc::Finding>& findings);

  // Answer of that host to the last question; unset: none.
  struct Answer {
    std::vector<ipc::Finding> findings{};
    std::size_t missing = 0;  // parts that did not arrive
  };
  std::optional<Answer> of(NodeId host) const;

 private:
  struct Reply {
    std::uint8_t parts = 0;
    std::map<std::uint8_t, ipc::Finding> findings{};  // by part; at most kMaxParts
    bool complete() const { return findings.size() >= parts; }
  };

  std::uint32_t question_ = 0;
  std::optional<Instant> asked_;     // time of the last question
  std::map<NodeId, Reply> replies_;  // at most one per host of the directory
  std::optional<Instant> answered_;  // time of the last own answer
};

}  // namespace tempo::daemon
