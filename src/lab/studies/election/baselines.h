// What an election costs elsewhere: LeLann's ring and the bully, run with their real machines in a
// simulated world, to stand in one table with TEMPO's election.
//
// The coordinator has died and is known to be dead: it is neither on the ring nor asked. The nodes
// 0 to N-1 survive, nothing is lost, and every transmission to one node counts as a message.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "lab/sim/delay.h"

namespace tempo::sim::election {

struct BaselineCost {
  std::string name;
  std::uint64_t messages = 0;   // seen on the network until all is quiet
  std::uint64_t predicted = 0;  // by the algorithm's law
  NodeId leader = kNobody;      // whom all survivors name; kNobody if they do not agree
  bool agreed = false;          // all name the same node, which lives and alone calls itself leader
  Nanos time{0};                // from the first suspicion until the last survivor knew
};

// The bully may have about N * N / 2 messages under way at once.
inline constexpr std::uint32_t kMaxBaselineSurvivors = 2048;

// Three rows, for 2 to kMaxBaselineSurvivors survivors:
//   LeLann             everybody suspects at once: N * N messages
//   bully, best case   the highest suspects: N - 1
//   bully, worst case  the lowest suspects, alone: N * N - 1
// The bully's timeouts are multiples of the delay's bound. A delay without one gets a bound that is
// hardly ever passed; where it is, the row shows what happened, not what should have.
std::vector<BaselineCost> baseline_costs(std::uint32_t survivors, std::uint64_t seed,
                                         const Delay& delay);

}  // namespace tempo::sim::election
