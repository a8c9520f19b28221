// Mutations of the master election: single deliberate faults that the tests must detect
// (machine/mutation.h).
#pragma once

#include <cstdint>

#include "machine/mutation.h"

namespace tempo::election {

enum class Mutation : std::uint8_t {
  none,
  obey_lower_epoch,    // a node applies Adjtime and Settime of a lower epoch
  forget_epoch,        // a node does not record a higher epoch as followed
  reuse_round,         // a new master uses a round already seen
  accept_two,          // a node in Accept accepts a second candidate too
  candidate_accepts,   // a candidate accepts a rival instead of refusing it
  ignore_refuse,       // a candidate continues after a Refuse
  ignore_quit,         // a candidate continues after a Quit
  unbound_answers,     // answers to an earlier Election count
  no_back_off,         // a collision does not widen the range of the timeout
  no_ack,              // a node acknowledges no reliable message
  apply_twice,         // a node applies duplicates again
  forget_incarnation,  // a restarted sender's first messages look like old ones
  no_retransmission,   // a node sends reliable messages once
  master_ignores_masterreq,
  master_ignores_election,
  master_keeps_ruling,  // a master that learns of a higher epoch stays master
  no_overlooked,        // an overlooked slave stays silent
  never_give_up,        // a slave keeps obeying a master that corrects no one
  masterreq_postpones,  // a Masterreq restarts the election timer, as in 4.3BSD
  no_overdue,           // an overdue candidate still becomes master
  hint_not_trusted,     // a slave ignores Masterdown
  heir_waits,           // the heir draws a timeout like any slave
  no_loop_at_once,      // a master that meets a lower epoch waits for the next Loop
  drop_nobody,          // a slave that does not answer stays in the list
  no_repeats,           // a node sends Masterreq and Election once, regardless of the rules
  count,
};

}  // namespace tempo::election
