// Parses the text of a trace, written by a simulation or by `tempo trace follow`.
//
//     # 2 is shore                          a node's name
//     2000 1->* masterup
//     2001.25 1->2 masterup received
//     2001.25 2 becomes slave
//
// The parser matches a reception or loss with the oldest transmission that fits. The trace of one
// daemon does not contain the transmissions of other hosts; for a reception without a transmission
// the parser assumes that the message was sent at that time. It ignores other comments and empty
// lines.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lab/sim/trace.h"

namespace tempo::sim {

struct ReadTrace {
  Trace trace{true};
  std::uint32_t nodes = 0;            // the highest node number
  std::vector<std::string> names{};   // name of each node; by default its number
  std::vector<std::string> states{};  // last state of each node; empty: unknown
  bool one_sided = false;             // some reception has no transmission in the trace
  // Storage of the trace's labels, which are views; a ReadTrace is therefore not copyable.
  std::set<std::string, std::less<>> labels{};

  ReadTrace() = default;
  ReadTrace(ReadTrace&&) = default;
  ReadTrace& operator=(ReadTrace&&) = default;
};

inline constexpr std::uint32_t kMaxTracedNodes = 10'000;

// An error names the line that could not be parsed.
Result<ReadTrace> read_trace(std::string_view text);

// Returns true if the text is a trace rather than a script: its first line that is not a comment
// begins with a time.
bool looks_like_trace(std::string_view text);

}  // namespace tempo::sim
