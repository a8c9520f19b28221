// What atomic broadcast takes for granted, and the time it needs for it.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace tempo::broadcast {

// What a faulty process may do.
enum class Faults : std::uint8_t {
  omission,   // stop for ever, or fail to send or receive; a lost message is one of these
  malicious,  // anything, but it cannot forge a signature
};

struct Rules {
  std::uint32_t members = 2;  // nodes 0 to members - 1; every pair can talk
  Nanos delay{0};      // delta: from one correct process to another, handling and pauses included
  Nanos precision{0};  // epsilon: two correct clocks differ by at most this
  std::uint32_t faulty = 0;  // pi: so many processes at most during any delivery
  Faults faults = Faults::omission;
  Nanos unit{1};  // of the clock: stamps are rounded up, readings down
  bool fills =
      false;  // a word without content when we were quiet for long: gaps are noticed sooner

  // For studies: what must not be done.
  Nanos short_by{0};      // the latency is too short by this
  bool relays = true;     // false: nobody hands on what it heard
  bool tests_hop = true;  // false, malicious class: a message that was held back is believed

  // Delta, with this delay: when everybody's clock shows the stamp and so much more, all deliver.
  Nanos latency(Nanos with) const {
    const auto hops = static_cast<std::int64_t>(faulty) + 1;
    const Nanos whole =
        faults == Faults::omission ? hops * with + precision : hops * (with + precision);
    return whole - short_by;
  }
  Nanos latency() const { return latency(delay); }
  // T of the elections that run on it: all correct processes deliver within this of the broadcast.
  Nanos bound() const { return latency() + precision; }
};

// Why a process no longer trusts what it delivers.
enum class Doubt : std::uint8_t {
  none,
  late,      // a message came after its time of delivery
  future,    // a stamp is ahead of our clock by more than clocks can differ
  slow_hop,  // a message took longer than the delay
  paused,    // we woke up late ourselves
  gap,       // a number of a sender was never delivered here
  overrun,   // more messages under way than we can keep
};

}  // namespace tempo::broadcast
