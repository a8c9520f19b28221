// A group in a simulated network: hosts with the daemon's own lock and group services, a candidate
// on each, and faults.
//
// A user acts from the notice that it leads until it has stopped on request, is notified of a lost
// lease, or reaches the lease's end on its own clock; it outlives its daemon. The run has faults
// for a while, then none; then a host must lead that no other clearly outranks.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "protocol/group/leadership.h"
#include "protocol/group/terms.h"

namespace tempo::sim::groups {

// Probabilities, and rates in simulated time. 0: never.
struct Faults {
  double loss = 0;              // probability for each copy of a message
  double duplicate = 0;         // probability for each copy of a message
  double late = 0;              // probability that a copy takes up to three leases longer
  double crashes_per_s = 0;     // a daemon dies, and restarts after a while
  double pauses_per_s = 0;      // a daemon pauses for up to three leases
  double partitions_per_s = 0;  // the hosts are split in two parts for a while
  double resigns_per_s = 0;     // the leader is asked to resign
  double flaps_per_s = 0;       // the capacity of some candidate changes
};

struct Setup {
  std::uint32_t hosts = 3;  // number of hosts, at most eight; all vote
  tempo::groups::Algorithm algorithm = tempo::groups::Algorithm::b1;
  Nanos lease = 40ms;
  Nanos min_stay = 400ms;
  Nanos delay = 1ms;          // longest delay of a message
  Nanos stopping = 5ms;       // longest time that a user needs to stop
  Nanos clock_error = 200us;  // largest error of network time
  bool trusted = true;        // network time is marked as trustworthy
  Nanos faulty = 10s;         // duration of the period with faults
  Faults faults{};
  std::uint64_t seed = 1;
};

struct Outcome {
  std::uint64_t reigns = 0;      // terms of a leader
  std::uint64_t together = 0;    // terms that began while another user acted; must be 0
  std::uint64_t disorder = 0;    // terms with a token not larger than the last; must be 0
  std::uint64_t hasty = 0;       // leaders replaced before min_stay; must be 0
  std::uint64_t needless = 0;    // leaders replaced without a clearly better candidate
  std::uint64_t leaderless = 0;  // runs that end without a leader after the faults
  std::uint64_t outdone = 0;     // runs that end with a leader that is clearly outranked
  std::uint64_t as_wanted = 0;   // terms decided by the configured algorithm
  std::uint32_t first = 0;       // the first leader
  Nanos longest_gap{0};          // longest time without an acting user
  const char* broken = nullptr;  // name of the violated invariant of the machine; null: none

  bool kept() const {
    return together == 0 && disorder == 0 && hasty == 0 && needless == 0 && leaderless == 0 &&
           outdone == 0 && broken == nullptr;
  }
};

Outcome run(const Setup& setup);

}  // namespace tempo::sim::groups
