// Mutations of the ring elections: single faults built in on purpose, to test the tests
// (machine/mutation.h).
#pragma once

#include <cstdint>

#include "machine/mutation.h"

namespace tempo::election::ring {

enum class Mutation : std::uint8_t {
  none,
  take_twice,         // a copy of a message counts as another
  take_out_of_order,  // a message that overtakes is not held back
  tie_loses,          // a station that drew as much as the one before it gives up
  no_announcement,    // the elected keeps it to itself
  no_restart,         // the next station is passed over, and that is all
  keep_lower_number,  // messages of an election that was given up count
  swallow_next_time,  // anonymous: who leaves a phase on a Next-time does not pass it on
  count,
};

}  // namespace tempo::election::ring
