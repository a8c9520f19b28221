// Whether somebody keeps the kernel's clock, and how well: for members that carry UTC.
//
// A daemon that disciplines the clock tells the kernel how wrong it can be; the kernel lets that
// grow while it hears nothing, and gives up at sixteen seconds.
#pragma once

#include "base/result.h"
#include "base/units.h"
#include "platform/clocks/kernel_clock.h"

namespace tempo::sys {

struct Discipline {
  bool synchronized = false;
  Instant raw{};        // when it was read
  Nanos real{0};        // what the clock showed then
  Nanos most_error{0};  // by the kernel's account, and what the reading itself leaves open
  int tai = 0;          // TAI minus UTC, in seconds; moves with every leap second
};

// Reads the clock and its state in one call; changes nothing, needs no rights.
Result<Discipline> read_discipline(KernelClock& kernel);

}  // namespace tempo::sys
