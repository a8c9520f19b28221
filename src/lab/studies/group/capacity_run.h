// One election by capacity in a simulated network, with faults.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/units.h"
#include "protocol/group/capacity.h"

namespace tempo::sim::capacity {

enum class Algorithm : std::uint8_t { a, b1, b2, b2_unordered, c };

// Source of the capacities.
enum class Criterion : std::uint8_t {
  random,
  id,        // the node's number
  equal,     // the same for all: the larger number wins
  changing,  // redrawn several times, also during the election
};

struct Setup {
  Algorithm algorithm = Algorithm::a;
  std::uint32_t nodes = 5;
  std::uint32_t candidates = 5;  // number of candidates; the seed draws which nodes they are
  tempo::election::capacity::Variant variant = tempo::election::capacity::Variant::corrected;
  Criterion criterion = Criterion::random;
  double loss = 0;              // probability for each copy; only C tolerates it
  std::uint32_t malicious = 0;  // t, and the number of malicious processes
  // Number of processes that stop permanently at some time during the election.
  std::uint32_t crashes = 0;
  std::uint32_t pauses = 0;  // number of processes that pause for up to 2T
  Nanos bound = 10ms;        // T; a broadcast takes up to T
  Nanos start_skew{0};       // largest difference between spontaneous starts
  // Largest difference between clocks, and between starts at the same reading.
  Nanos clock_error{0};
  bool self_delivery = true;
  // Runs over the atomic broadcast machine on a network without these properties. T then follows
  // from `delay` and `precision`; `bound`, `self_delivery` and `malicious` do not apply.
  bool over_atomic = false;
  Nanos delay = 1ms;        // longest delay of a message
  Nanos precision = 100us;  // largest difference between clocks
  std::uint64_t seed = 1;
};

// An honest process neither lies nor crashes nor pauses.
struct Outcome {
  bool unique = false;        // all honest processes have elected the same candidate
  bool disagree = false;      // two honest processes have elected different candidates
  std::uint32_t masters = 0;  // honest processes that consider themselves master
  std::uint32_t help = 0;     // processes that ended by asking for help
  std::uint32_t rounds = 0;   // C: largest number of rounds of a process
  Nanos time{0};              // first election: from the first start to the last honest decision
  std::uint32_t reelections = 0;
  std::uint64_t broadcasts = 0;  // of honest processes, without heartbeats
  std::uint64_t events = 0;
  Nanos bound{0};  // T, as set or as given by the atomic broadcast
};

// Requires candidates <= nodes; crashed, paused and malicious nodes are disjoint and leave one
// honest node; B.2 requires nodes >= 3 * malicious + 1, and the unordered version at most 16 nodes.
Outcome run(const Setup& setup);

}  // namespace tempo::sim::capacity
