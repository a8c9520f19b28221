// Whether another program disciplines the kernel clock, and how well: for members that carry UTC.
//
// A daemon that disciplines the clock reports a maximum error to the kernel. The kernel increases
// it while it gets no updates and declares the clock unsynchronized at sixteen seconds.
#pragma once

#include "base/result.h"
#include "base/units.h"
#include "platform/clocks/kernel_clock.h"

namespace tempo::sys {

struct Discipline {
  bool synchronized = false;
  Instant raw{};        // raw time of the reading
  Nanos real{0};        // clock time of the reading
  Nanos most_error{0};  // maximum error stated by the kernel plus the uncertainty of the reading
  int tai = 0;          // TAI minus UTC in seconds; changes with every leap second
};

// Reads clock and state in one call; changes nothing and needs no privilege.
Result<Discipline> read_discipline(KernelClock& kernel);

}  // namespace tempo::sys
