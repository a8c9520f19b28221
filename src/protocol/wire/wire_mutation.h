// Mutations of the codec and of liveness: single faults that are built in on purpose, to test the
// tests (machine/mutation.h).
#pragma once

#include <cstdint>

#include "machine/mutation.h"

namespace tempo::wire {

enum class Mutation : std::uint8_t {
  none,
  any_process_is_live,      // no process has to repeat a challenge
  any_response,             // a response is not compared with the challenge
  old_response,             // a response of any age proves that its sender is live
  one_challenge_for_all,    // a challenge does not depend on the process that it is for
  live_without_end,         // a process stays live without a response
  live_on_every_network,    // a response on one network counts for all of them
  networks_stay,            // and for the next process of its host
  foreign_datagram,         // a datagram to another process is accepted while its sender is live
  holds_foreign,            // it is held, and accepted when its sender answers
  no_window,                // a datagram is accepted again and again
  no_floor,                 // after the first contact all earlier broadcasts are new
  no_nonce,                 // processes differ only by their incarnations
  earlier_process_returns,  // responses to an earlier process of a host stay valid
  question_to_other,        // a question to an earlier process is for the present one too
  recorded_question,        // the challenge of an old question replaces a newer one
  overtaken_challenge,      // so does that of a datagram that was overtaken
  unasked_answer,           // an answer counts without a question
  answer_again,             // one question has any number of answers
  late_answer,              // an answer counts at any time
  held_too_long,            // held datagrams have no end
  returns_unnoticed,        // an earlier process of a host that is live again is no sign of a clone
  count,
};

}  // namespace tempo::wire
