// Time since the kernel started, including suspension. Leases are measured with it.
#pragma once

#include <string>

#include <time.h>

#include "base/check.h"
#include "base/units.h"
#include "platform/clocks/stamps.h"

namespace tempo::sys {

inline BootTime boot_clock() {
  timespec time{};
  // A simulator may lack CLOCK_BOOTTIME; simulated machines are not suspended.
  if (clock_gettime(CLOCK_BOOTTIME, &time) != 0) CHECK(clock_gettime(CLOCK_MONOTONIC, &time) == 0);
  return BootTime{nanos_of(time)};
}

// Changes with every start of the kernel; empty: unknown.
std::string kernel_boot_id();

}  // namespace tempo::sys
