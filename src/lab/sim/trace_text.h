// A trace read back from its text: a simulation's, or what `tempo trace follow` wrote of a daemon.
//
//     # 2 is shore                          a node's name
//     2000 1->* masterup
//     2001.25 1->2 masterup received
//     2001.25 2 becomes slave
//
// Receptions and losses are tied to the oldest transmission they fit. A daemon hears what others
// send and not when: a reception without a transmission counts as sent when it was received. Other
// comments and empty lines are passed over.
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
  std::uint32_t nodes = 0;            // as many as the highest number
  std::vector<std::string> names{};   // of each node; its number, if not said
  std::vector<std::string> states{};  // of each node at the end; empty: not said
  bool one_sided = false;             // something was received that nobody is seen to send
  // What the trace's labels view. Not to be copied, then.
  std::set<std::string, std::less<>> labels{};

  ReadTrace() = default;
  ReadTrace(ReadTrace&&) = default;
  ReadTrace& operator=(ReadTrace&&) = default;
};

inline constexpr std::uint32_t kMaxTracedNodes = 10'000;

// A failure names the line that is not understood.
Result<ReadTrace> read_trace(std::string_view text);

// Whether this is a trace rather than a script: its first line that is no comment begins with a
// time.
bool looks_like_trace(std::string_view text);

}  // namespace tempo::sim
