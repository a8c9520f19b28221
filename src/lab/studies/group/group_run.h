// A group in a simulated network: hosts with the daemon's own lock and group services, a candidate
// at each, and whatever is to go wrong around them.
//
// A user acts from when it is told to lead until it has stopped as told, is told that the lease is
// lost, or its own clock says that it ends; it outlives its daemon. The run has faults for a while,
// then none; then somebody must lead, and nobody who is clearly outdone.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "protocol/group/leadership.h"
#include "protocol/group/terms.h"

namespace tempo::sim::groups {

// How often, in simulated time. 0: never.
struct Faults {
  double loss = 0;              // of each copy
  double duplicate = 0;         // of each copy
  double late = 0;              // takes up to three leases longer
  double crashes_per_s = 0;     // a daemon dies, and starts again after a while
  double pauses_per_s = 0;      // a daemon stands still for up to three leases
  double partitions_per_s = 0;  // the hosts are in two parts for a while
  double resigns_per_s = 0;     // a leader is told to resign
  double flaps_per_s = 0;       // some candidate has another capacity
};

struct Setup {
  std::uint32_t hosts = 3;  // all vote, at most eight
  tempo::groups::Algorithm algorithm = tempo::groups::Algorithm::b1;
  Nanos lease = 40ms;
  Nanos min_stay = 400ms;
  Nanos delay = 1ms;          // of a message at most
  Nanos stopping = 5ms;       // a user takes up to so long to stop
  Nanos clock_error = 200us;  // network time is wrong by up to so much
  bool trusted = true;        // and known to be right
  Nanos faulty = 10s;         // how long there are faults
  Faults faults{};
  std::uint64_t seed = 1;
};

struct Outcome {
  std::uint64_t reigns = 0;      // how often somebody began to act
  std::uint64_t together = 0;    // beside another: never
  std::uint64_t disorder = 0;    // with a token not larger than the last: never
  std::uint64_t hasty = 0;       // less than min_stay after another was unseated: never
  std::uint64_t needless = 0;    // unseated, and nobody was clearly better
  std::uint64_t leaderless = 0;  // nobody leads when all is well again
  std::uint64_t outdone = 0;     // or one that is clearly outdone
  std::uint64_t as_wanted = 0;   // reigns after an election that the algorithm wanted decided
  std::uint32_t first = 0;       // the host that led first
  Nanos longest_gap{0};          // without an acting user
  const char* broken = nullptr;  // an invariant of the machine

  bool kept() const {
    return together == 0 && disorder == 0 && hasty == 0 && needless == 0 && leaderless == 0 &&
           outdone == 0 && broken == nullptr;
  }
};

Outcome run(const Setup& setup);

}  // namespace tempo::sim::groups
