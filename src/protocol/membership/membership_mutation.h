// Mutations of the membership machine: single faults that are built in on purpose, to test the
// tests (machine/mutation.h).
#pragma once

#include <cstdint>

#include "machine/mutation.h"

namespace tempo::membership {

enum class Mutation : std::uint8_t {
  none,
  no_lease,               // a member grants while its grant to another master runs
  hold_from_receipt,      // the main part counts from the receipt of a grant, not from its beacon
  no_rate_margin,         // KEEP and HOLD are equal
  install_accepted,       // a member installs what it has only accepted
  ignore_pending,         // a new master does not complete an accepted view
  oldest_pending,         // a new master completes the pending view of the lowest ballot
  promise_in_memory,      // the promise is not in the record
  accept_in_memory,       // the accepted view is not in the record
  no_abstention,          // a restarted member grants at once
  lower_ballot,           // a member grants a beacon under a lower ballot than it promised
  accept_ungranted,       // a member accepts a view without granting the beacon
  half_is_quorum,         // any half of the members is a quorum
  new_view_ungranted,     // a view counts as agreed before its own quorum has granted
  no_barrier,             // a new master is main without a view of its own
  main_after_lapse,       // a master whose grants ended continues as main with the next ones
  old_beacon_counts,      // a grant of any beacon counts as one of the newest
  newcomer_keeps_number,  // a machine that gives its record up votes on in the views of that record
  count,
};

}  // namespace tempo::membership
