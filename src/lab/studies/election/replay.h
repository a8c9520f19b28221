// What the checker found, as a text that the simulator plays again.
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
// One line for each step, in order; `= state` is what the node is then, for the checker and for the
// simulator alike. Messages are named by the number of their transmission, as in a trace. The rules
// are those of profile `tiny`; a tick is a nanosecond.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lab/check/explore.h"
#include "lab/sim/trace.h"
#include "lab/studies/election/election_model.h"

namespace tempo::check {

// The moves as a script. They must come from this space.
std::string replay_script(Space<ElectionModel>& space, const std::vector<Move>& moves,
                          std::string_view counterexample);

struct Replayed {
  sim::Trace trace{true};
  std::uint32_t nodes = 0;
  std::uint32_t steps = 0;
  std::vector<std::string>
      states;  // of each node at the end: "master of 2,3", "slave of 1", "down"
};

// Plays a script in the simulator. A failure names the line: what cannot be played, or a node that
// is not in the state the script says.
Result<Replayed> replay(std::string_view script);

}  // namespace tempo::check
