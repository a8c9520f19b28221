// Mutations of the lock in which silence is consent: single faults built in on purpose, to test the
// tests (machine/mutation.h).
#pragma once

#include <cstdint>

#include "machine/mutation.h"

namespace tempo::lock::mutex {

enum class Mutation : std::uint8_t {
  none,
  number_before_sleep,    // rule 2: the number is taken before the sleep
  window_one_way,         // rule 3: the window covers one delay
  window_no_handlers,     // rule 3: and no handlers
  window_no_replies,      // rule 3: no handlers of replies
  window_no_queue,        // rule 3: no queues before handlers
  window_equal_steps,     // rule 3: as if everybody's steps were of one length
  window_no_spare,        // rule 3: not the one step more
  window_no_hold,         // a hold may outlive its site, and the window does not know it
  enter_refused,          // rule 4: refusers are not waited for
  no_positive,            // rule 5: who leaves keeps it to itself
  no_asking_again,        // rule 6
  repeated_unanswered,    // rule 7: who was refused once is not refused again
  number_not_raised,      // rule 7: a request heard does not raise the highest number
  readers_not_raised,     // rule 7: a reader's does not
  equals_pass,            // rule 7: of equal numbers neither site refuses the other
  reader_passes_writer,   // rule 7: a writer that waits lets readers pass
  reader_refuses_reader,  // rule 7
  inside_lets_pass,       // rule 7: who is inside refuses later numbers only
  any_number,             // a reply to another number counts
  positive_forgotten,     // a negative reply takes back the positive one that overtook it
  no_restart_message,     // rule 8: abstains, and asks nobody what it forgot
  no_abstaining,          // rule 8: sends restarts and goes on at once
  straight_on,            // rule 8: neither
  restart_frees_hold,     // rule 8: though the hold may outlive the site
  trusts_for_ever,        // bounds that are gone change nothing
  explicit_at_once,       // an explicit reply does not wait for its turn
  count,
};

}  // namespace tempo::lock::mutex
