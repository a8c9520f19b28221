// Mutations of the bounded-delay mutex: single faults that are built in on purpose, to test the
// tests (machine/mutation.h).
#pragma once

#include <cstdint>

#include "machine/mutation.h"

namespace tempo::lock::mutex {

enum class Mutation : std::uint8_t {
  none,
  number_before_sleep,    // rule 2: the site takes its number before the sleep
  window_one_way,         // rule 3: the window covers one delay
  window_no_handlers,     // rule 3: the window covers no handlers
  window_no_replies,      // rule 3: the window covers no handlers of replies
  window_no_queue,        // rule 3: the window covers no queues of handlers
  window_equal_steps,     // rule 3: the window assumes that all sites' steps have one length
  window_no_spare,        // rule 3: the window lacks the one additional step
  window_no_hold,         // a hold may outlive its site, and the window does not cover it
  enter_refused,          // rule 4: the site does not wait for refusers
  no_positive,            // rule 5: a site that leaves does not take its refusals back
  no_asking_again,        // rule 6: a silent refuser is not asked again
  repeated_unanswered,    // rule 7: a repeated request is not refused again
  number_not_raised,      // rule 7: a received request does not raise the highest number
  readers_not_raised,     // rule 7: a received shared request does not raise the highest number
  equals_pass,            // rule 7: of equal numbers neither site refuses the other
  reader_passes_writer,   // rule 7: a waiting writer lets readers pass
  reader_refuses_reader,  // rule 7: a reader refuses readers
  inside_lets_pass,       // rule 7: a site inside refuses only later numbers
  any_number,             // a reply to another number counts
  positive_forgotten,     // a negative reply cancels the positive one that overtook it
  no_restart_message,     // rule 8: abstains without asking the others for the highest number
  no_abstaining,          // rule 8: sends restarts and continues at once
  straight_on,            // rule 8: neither sends restarts nor abstains
  restart_frees_hold,     // rule 8: a restart ends a hold that may outlive the site
  trusts_for_ever,        // losing the bounds changes nothing
  explicit_at_once,       // an explicit reply does not wait for its turn
  count,
};

}  // namespace tempo::lock::mutex
