// How patient the links of a simulated ring must be to mask a given loss.
#pragma once

#include "base/units.h"
#include "protocol/group/ring_types.h"

namespace tempo::sim::ring {

inline constexpr double kMaxLoss = 0.5;

// Repeats a message so often that fewer than one of ten thousand million is given up though its
// addressee lives: the message and its acknowledgement are each lost with probability `loss`.
// `way` is the longest way of a datagram.
tempo::election::ring::Courier::Options masking(double loss, Nanos way);

// The longest a message can take, from its first send to its arrival, if it arrives.
Nanos longest_way(const tempo::election::ring::Courier::Options& courier, Nanos way);

}  // namespace tempo::sim::ring
