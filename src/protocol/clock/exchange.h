// One exchange of timestamps between a member and its reference.
#pragma once

#include "base/units.h"

namespace tempo::clock {

// Local stamps are readings of the clock that is never steered; the reference's are its network
// time. Wanted is theta = local minus reference.
struct Exchange {
  Instant asked;      // r1: sent, local
  WallTime received;  // t2: arrived, reference
  WallTime answered;  // t3: sent back, reference
  Instant heard;      // r4: arrived, local
};

}  // namespace tempo::clock
