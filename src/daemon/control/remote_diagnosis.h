// One host asks all others what ails them, and what they answered.
//
// A question is answered by words (wire::DiagnosticBody), a datagram for each finding. It is over
// when everybody who is known has answered, or after a second; what is lost on the way is missing,
// and it says so. Answers are given at most twice a second: a question is small and its answers are
// many.
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
  static constexpr Nanos kPatience = 1s;
  static constexpr Nanos kBetweenAnswers = 500ms;
  static constexpr std::size_t kMaxParts = 8;

  // The question for everybody; one that is under way goes on.
  std::optional<wire::DiagnosticBody> ask(Instant now);
  bool over(Instant now, std::size_t others) const;

  void receive(NodeId from, const wire::DiagnosticBody& word);

  // What to answer; nothing if we have just answered.
  std::vector<wire::DiagnosticBody> answer(Instant now, const wire::DiagnosticBody& question,
                                           const std::vector<ipc::Finding>& findings);

  // What that host has answered to the last question; nothing: it has not.
  struct Answer {
    std::vector<ipc::Finding> findings{};
    std::size_t missing = 0;  // parts that did not arrive
  };
  std::optional<Answer> of(NodeId host) const;

 private:
  struct Heard {
    std::uint8_t parts = 0;
    std::map<std::uint8_t, ipc::Finding> findings{};  // by part; at most kMaxParts
    bool whole() const { return findings.size() >= parts; }
  };

  std::uint32_t question_ = 0;
  std::optional<Instant> asked_;
  std::map<NodeId, Heard> heard_;  // as many as the directory has hosts
  std::optional<Instant> answered_;
};

}  // namespace tempo::daemon
