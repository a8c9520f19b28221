// Mutations of the master election: single faults built in on purpose, to test the tests
// (machine/mutation.h).
#pragma once

#include <cstdint>

#include "machine/mutation.h"

namespace tempo::election {

enum class Mutation : std::uint8_t {
  none,
  obey_lower_epoch,    // Adjtime and Settime of a lower epoch are applied
  forget_epoch,        // a higher epoch is not remembered as followed
  reuse_round,         // a new master takes a round already seen
  accept_two,          // in Accept, a second candidate is accepted too
  candidate_accepts,   // a candidate accepts a rival instead of refusing it
  ignore_refuse,       // a candidate goes on in spite of a Refuse
  ignore_quit,         // a candidate goes on in spite of a Quit
  unbound_answers,     // answers to an earlier Election count
  no_back_off,         // a collision does not widen the range
  no_ack,              // an Accept is not acknowledged
  apply_twice,         // duplicates are applied again
  forget_incarnation,  // a restarted sender's first messages look like old ones
  no_retransmission,   // reliable messages are sent once
  master_ignores_masterreq,
  master_ignores_election,
  master_keeps_ruling,  // a master that hears of a higher epoch stays
  no_overlooked,        // an overlooked slave stays silent
  never_give_up,        // a master that corrects nobody is obeyed for ever
  masterreq_postpones,  // a Masterreq restarts the election timer, as in 4.3BSD
  no_overdue,           // an overdue candidate becomes master all the same
  hint_not_trusted,     // Masterdown is ignored
  heir_waits,           // the heir draws like everybody
  no_loop_at_once,      // a master that meets a lower epoch waits for the next Loop
  drop_nobody,          // a slave that does not answer stays listed
  no_repeats,           // Masterreq and Election are sent once whatever the rules say
  count,
};

}  // namespace tempo::election
