// Mutations of the lease lock: single faults built in on purpose, to test the tests
// (machine/mutation.h).
// The first nineteen are the variants that the lock's specification says must fail.
#pragma once

#include <cstdint>

#include "machine/mutation.h"

namespace tempo::lock::lease {

enum class Mutation : std::uint8_t {
  none,
  no_abstention,              // a started daemon grants and asks at once
  no_drift_margin,            // HOLD(L) = KEEP(L) = L, SHRINK(d) = d
  half_is_enough,             // half of the votes are a quorum
  no_low_test,                // a grantor accepts any count
  sub_not_raised,             // neither by a grant nor by a hand-over
  taker_counts_from_receipt,  // of the PASS, not from the ASK it echoes
  pass_accepted_twice,        // a copy of a PASS counts again
  gives_while_inside,         // a hand-over while a client is inside
  free_after_pass,            // the giver says that the ballot is over
  expired_lease_extended,     // a GRANT that comes after V counts
  freed_ballot_reused,        // the next attempt uses the last ballot again
  reserve_not_durable,        // counts start where they started last time
  boot_not_raised,            // a restarted daemon calls itself by its last life's number
  pass_to_newer_boot,         // a PASS is repeated to a target that restarted
  client_without_clock_test,  // a client goes on until it is told, whatever its deadline
  gives_after_v,              // the lease is not looked at before it is used
  shared_raised,              // from S to X without a new ballot
  exclusive_kept,             // the lease stays X after the step down to S
  promise_before_receipt,     // promises count from a clock reading before the datagram came
  tickets_forgotten,          // with the lock, so that one can come twice
  pass_on_old_word,           // a PASS is repeated because of an old ASK
  view_unsettled,             // the next view while leases of the one before the last are held
  view_without_floor,         // a new view does not say how far counts have gone
  view_passed,                // @view is handed over, and nobody asks what was accepted
  proposal_forgotten,         // nor says it
  acceptance_not_durable,     // a restart forgets what was accepted
  time_without_bound,         // network time is taken for exact
  shared_promise_raised,      // a grantor's S promise becomes X by a late word
  blank_at_once,              // who has no record does not ask how far counts have gone
  floor_forgotten,            // nor does a lock that was forgotten say so
  counts_alike,               // where each of two is enough they use the same counts
  grant_by_other_length,      // a grant counts by what was asked for since, not by what it answers
  promise_of_own_length,      // a grantor keeps every promise for L, whatever was asked for
  abstains_for_own_length,    // and after a restart knows of no longer ones
  count,
};

}  // namespace tempo::lock::lease
