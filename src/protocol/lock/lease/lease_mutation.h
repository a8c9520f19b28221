// Mutations of the lease lock: single faults that are built in on purpose, to test the tests
// (machine/mutation.h).
// The first nineteen are the variants that must fail according to the lock's specification.
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
  sub_not_raised,             // neither a grant nor a hand-over raises it
  taker_counts_from_receipt,  // the receiver counts from the PASS, not from the ASK that it echoes
  pass_accepted_twice,        // a copy of a PASS counts again
  gives_while_inside,         // a hand-over while a client is inside
  free_after_pass,            // the giver says that the ballot has ended
  expired_lease_extended,     // a GRANT that arrives after V counts
  freed_ballot_reused,        // the next attempt uses the last ballot again
  reserve_not_durable,        // counts start where they started last time
  boot_not_raised,            // a restarted daemon uses the boot number of its previous incarnation
  pass_to_newer_boot,         // a PASS is repeated to a target that restarted
  client_without_clock_test,  // a client continues after its deadline until it is notified
  gives_after_v,              // a lease is used without checking its end
  shared_raised,              // from S to X without a new ballot
  exclusive_kept,             // the lease stays X after the downgrade to S
  promise_before_receipt,     // promises count from a clock reading before the datagram arrived
  tickets_forgotten,          // a forgotten lock loses its tickets, so that one can occur twice
  pass_on_old_word,           // a PASS is repeated because of an old ASK
  view_unsettled,      // the next view comes while leases of the view before the last are held
  view_without_floor,  // a new view does not say how far counts have gone
  view_passed,         // @view is handed over, and its new holder does not learn what was accepted
  proposal_forgotten,  // a member that grants @view does not say what it has accepted
  acceptance_not_durable,  // a restart forgets what was accepted
  time_without_bound,      // network time counts as exact
  shared_promise_raised,   // a late message turns a grantor's S promise into X
  blank_at_once,           // a member without a record does not ask how far counts have gone
  floor_forgotten,         // a forgotten lock does not raise the floor
  counts_alike,            // where each of two voters is a quorum, both use the same counts
  grant_by_other_length,   // a grant counts by the length of the newest ASK, not of the ASK that it
                           // answers
  promise_of_own_length,   // a grantor keeps every promise for L, whatever length the ASK wanted
  abstains_for_own_length,  // a restarted member abstains for L, whatever longer promises may last
  any_life_continues,       // messages of an earlier incarnation, or with another record, count
  claim_unconfirmed,       // a member with a lost or copied record votes without a quorum's consent
  claim_votes_at_once,     // it does not wait for leases that its twin has voted for
  claim_not_durable,       // a restarted voter forgets which claims it has confirmed
  claim_keeps_grants,      // grants that a twin gave before still count
  claims_not_told,         // a grantor does not learn from others what they have confirmed
  claim_of_low_boot,       // a voter that remembers nothing confirms any claim
  retired_votes,           // a member votes although another machine has its identity
  own_claim_raises,        // the answer to an earlier claim of a member raises its claim
  clients_not_registered,  // voters do not learn which clients are inside
  pass_keeps_clients,      // a hand-over does not end the registration of the giver's clients
  resume_of_any_client,    // a grantor joins in for a client that has left
  resume_below_top,        // a grantor without the promise joins in although it accepted more
  resume_of_held,          // the holder of a lease lets another member resume it
  session_of_any_process,  // any process may use a session
  resumed_by_minority,     // one answer is enough
  resumed_unconfirmed,     // no voter needs to know that the client is inside
  resumed_after_deadline,  // answers after the client's deadline count
  resumed_lease_gives,     // a resumed lease serves new clients
  abstaining_voter_forgets,  // a grantor that abstains does not remember leases in use
  resumed_readers_freed,     // a resumed shared lease is freed while other readers may come back
  closed_is_done,            // a closed connection counts as the client's end
  count,
};

}  // namespace tempo::lock::lease
