// The main part of the network, as the clock sees it: until when this node is in it, and how far
// network time may be from the clock of a node that is not (protocol/membership decides).
//
// A node outside the main part keeps time for itself. Its error bound allows for the drift of both
// parts, and for a next master of the main part that knew network time no better than this node.
#pragma once

#include <algorithm>

#include "base/units.h"
#include "protocol/sync/sync_messages.h"
#include "protocol/sync/sync_step.h"

namespace tempo::node {

class MainPartClock {
 public:
  // `bound`: error bound of network time at this node; negative: unknown.
  void update(Instant now, const MainPart& part, Nanos bound) {
    if (part.here && now < part.until && bound >= Nanos{0}) bound_ = bound;
    part_ = part;
  }

  const MainPart& part() const { return part_; }
  // Never: this node does not know network time.
  bool ever() const { return part_.until != kNeverMain; }
  bool lasts(Instant now) const { return now < part_.until; }

  // The error that may have been added since the main part ended for this node; 0: it lasts, or it
  // never was in it.
  Nanos doubt(Instant now) const { return doubt(now, Nanos::max()); }
  // The same for a node whose master states its own doubt, and was heard this long ago.
  Nanos doubt(Instant now, Nanos unheard) const {
    if (!ever() || lasts(now)) return Nanos{0};
    const Nanos apart = std::min(now - part_.until, unheard) + kSinceContact;
    return 2 * bound_ + share_of(apart, 2 * kApartWander);
  }

  // The reading of this node as a member or master of its part. `unheard`: since its master was
  // heard; for a master since the beginning.
  Reading judged(Instant now, Reading reading, Nanos unheard) const {
    using Status = Reading::Status;
    if (reading.status == Status::unsynchronized || reading.status == Status::alone || lasts(now))
      return reading;
    if (!ever()) return Reading::unknown(reading.time);
    const Nanos more = doubt(now, unheard);
    reading.earliest -= more;
    reading.latest += more;
    reading.status = now - part_.until < kGrace ? Status::holdover : Status::minority;
    return reading;
  }

 private:
  static constexpr double kApartWander = 10e-6;  // of one part against the scale that both had
  static constexpr Nanos kSinceContact = 10s;  // from the last contact to the end of the main part
  static constexpr Nanos kGrace = 10s;         // until a next master of this part is main

  MainPart part_{};
  Nanos bound_{0};  // error bound of network time when this node was in the main part
};

}  // namespace tempo::node
