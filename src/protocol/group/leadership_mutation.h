// Mutations of leadership: single faults that are built in on purpose, to test the tests
// (machine/mutation.h).
#pragma once

#include <cstdint>

#include "machine/mutation.h"

namespace tempo::groups {

enum class Mutation : std::uint8_t {
  none,
  leads_without_lease,  // the winner of an election leads at once
  no_min_stay,          // a better candidate replaces the leader at once
  no_margin,            // a candidate that is better by any amount replaces the leader
  equal_unseats,        // an equal candidate replaces the leader
  no_hold,              // a candidate that is better only for a moment replaces the leader
  capacity_at_will,     // a capacity may change at any time
  passes_while_acting,  // the lease is released before the user has stopped
  nobody_stands_by,     // no other candidate asks when the winner is dead
  follows_for_ever,     // a silent leader is never given up
  old_terms_believed,   // a late heartbeat of an earlier leader counts
  count,
};

}  // namespace tempo::groups
