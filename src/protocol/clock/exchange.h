// One exchange of timestamps between a member and its reference, as in NTP or PTP.
#pragma once

#include "base/units.h"

namespace tempo::clock {

// Local timestamps are readings of the raw clock, which is never steered; the reference's are its
// network time. The estimator computes theta, the offset: local minus reference.
struct Exchange {
  Instant asked;      // r1: the member sends the request (local)
  WallTime received;  // t2: the reference receives the request
  WallTime answered;  // t3: the reference sends the response
  Instant heard;      // r4: the member receives the response (local)
};

}  // namespace tempo::clock
