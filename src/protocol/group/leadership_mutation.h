// Mutations of leadership: single faults built in on purpose, to test the tests
// (machine/mutation.h).
#pragma once

#include <cstdint>

#include "machine/mutation.h"

namespace tempo::groups {

enum class Mutation : std::uint8_t {
  none,
  leads_without_lease,  // who is elected leads at once
  no_min_stay,          // a better candidate unseats at once
  no_margin,            // however little better it is
  equal_unseats,        // or not better at all
  no_hold,              // or only for a moment
  capacity_at_will,     // a capacity may change at any time
  passes_while_acting,  // the lease is let go before the user has stopped
  nobody_stands_by,     // when the elected is dead nobody else asks
  follows_for_ever,     // a silent leader is never given up
  old_terms_believed,   // a late word of an earlier leader counts
  count,
};

}  // namespace tempo::groups
