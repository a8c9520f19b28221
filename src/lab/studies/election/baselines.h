// The cost of other elections: LeLann's ring and the bully, run with their real machines in a
// simulated world, for comparison with TEMPO's election in one table.
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
  std::uint64_t messages = 0;   // total number on the network
  std::uint64_t predicted = 0;  // by the formula of the algorithm
  NodeId leader = kNobody;      // the leader of all survivors; kNobody if they disagree
  bool agreed = false;          // all survivors name the same live node
  Nanos time{0};                // from the first suspicion until the last survivor knows the leader
};

// The bully may have about N * N / 2 messages in transit at once.
inline constexpr std::uint32_t kMaxBaselineSurvivors = 2048;

// Three rows, for 2 to kMaxBaselineSurvivors survivors:
//   LeLann             all suspect at once: N * N messages
//   bully, best case   the highest suspects: N - 1
//   bully, worst case  only the lowest suspects: N * N - 1
// The bully's timeouts are multiples of the delay's bound. A delay without a bound gets one that is
// almost never exceeded; if it is, the row shows the simulated cost, not the predicted one.
std::vector<BaselineCost> baseline_costs(std::uint32_t survivors, std::uint64_t seed,
                                         const Delay& delay);

}  // namespace tempo::sim::election
