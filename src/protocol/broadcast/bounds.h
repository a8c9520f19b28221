// The assumptions of atomic broadcast, and the latency that follows from them.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace tempo::broadcast {

// Possible behaviour of a faulty process.
enum class Faults : std::uint8_t {
  omission,   // crash, or fail to send or receive; a lost message counts as one of these
  malicious,  // any behaviour, except that it cannot forge a signature
};

struct Rules {
  std::uint32_t members = 2;  // nodes 0 to members - 1; every pair can communicate
  Nanos delay{0};      // delta: from one correct process to another, processing and pauses included
  Nanos precision{0};  // epsilon: two correct clocks differ by at most this
  std::uint32_t faulty = 0;  // pi: maximum number of faulty processes during any delivery
  Faults faults = Faults::omission;
  Nanos unit{1};       // resolution of the clock: stamps are rounded up, readings down
  bool fills = false;  // broadcast a filler after a long silence, to detect gaps sooner

  // Violations of the protocol, for studies.
  Nanos short_by{0};      // the latency is too short by this
  bool relays = true;     // false: no process relays messages
  bool tests_hop = true;  // false, malicious class: accept a message that a process held back

  // Delta for this delay: every process delivers a message when its clock shows the stamp plus
  // Delta.
  Nanos latency(Nanos with) const {
    const auto hops = static_cast<std::int64_t>(faulty) + 1;
    const Nanos whole =
        faults == Faults::omission ? hops * with + precision : hops * (with + precision);
    return whole - short_by;
  }
  Nanos latency() const { return latency(delay); }
  // T of the elections that use it: all correct processes deliver within this time of the
  // broadcast.
  Nanos bound() const { return latency() + precision; }
};

// The reason why a process suspects that the assumptions do not hold.
enum class Doubt : std::uint8_t {
  none,
  late,      // a message arrived after its delivery time
  future,    // a stamp is ahead of the local clock by more than the precision allows
  slow_hop,  // a message took longer than the delay
  paused,    // this process ran its delivery timer late
  gap,       // a number of a sender was not delivered here
  overrun,   // more pending messages than this process can store
};

}  // namespace tempo::broadcast
