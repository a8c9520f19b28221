// Mutations of the ring elections: single faults that are built in on purpose, to test the tests
// (machine/mutation.h).
#pragma once

#include <cstdint>

#include "machine/mutation.h"

namespace tempo::election::ring {

enum class Mutation : std::uint8_t {
  none,
  take_twice,         // a copy of a message counts as another message
  take_out_of_order,  // the link does not hold back a message that overtook another
  tie_loses,          // a station that drew the same as the one before it stops competing
  no_announcement,    // the winner does not announce the result
  no_restart,         // the ring skips the next station and does not restart the election
  keep_lower_number,  // messages of an abandoned election count
  swallow_next_time,  // anonymous: a station that leaves a phase on a Next-time does not forward it
  count,
};

}  // namespace tempo::election::ring
