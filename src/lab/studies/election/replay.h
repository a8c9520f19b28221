// A counterexample of the checker as a script that the simulator replays.
//
//     # conservative is broken
//     nodes 3
//     variant corrected
//     start 1 draws 0 = startup
//     tick 2
//     deliver 1->2 masterreq #1 = startup
//     wake 2 startup = no_master
//     stand 3 = candidate
//     lose 1->3 loop #7
//     twice 1->3 loop #7
//     crash 1
//
// One line per step, in order; `= state` is the node's state after the step, both in the checker
// and in the simulator. A message is identified by the number of its transmission, as in a trace.
// The rules are those of profile `tiny`; a tick is a nanosecond.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lab/check/explore.h"
#include "lab/sim/trace.h"
#include "lab/studies/election/election_model.h"

namespace tempo::check {

// Writes the moves as a script. They must come from this space.
std::string replay_script(Space<ElectionModel>& space, const std::vector<Move>& moves,
                          std::string_view counterexample);

struct Replayed {
  sim::Trace trace{true};
  std::uint32_t nodes = 0;
  std::uint32_t steps = 0;
  // Of each node at the end: "master of 2,3", "slave of 1", "down".
  std::vector<std::string> states;
};

// Replays a script in the simulator. An error names the line with an impossible step, or with a
// node in another state than the script says.
Result<Replayed> replay(std::string_view script);

}  // namespace tempo::check
