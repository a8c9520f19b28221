// Courier options that mask a given loss on a simulated ring.
#pragma once

#include "base/units.h"
#include "protocol/group/ring_types.h"

namespace tempo::sim::ring {

inline constexpr double kMaxLoss = 0.5;

// Sends a message often enough that the courier gives up on a live destination with probability
// below 1e-10. Message and acknowledgement are each lost with probability `loss`; `way` is the
// longest delay of a datagram.
tempo::election::ring::Courier::Options masking(double loss, Nanos way);

// Longest time from the first send of a message to its arrival, if it arrives.
Nanos longest_way(const tempo::election::ring::Courier::Options& courier, Nanos way);

}  // namespace tempo::sim::ring
