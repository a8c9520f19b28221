// The time since the kernel started, sleep included: what leases are counted by.
#pragma once

#include <string>

#include <time.h>

#include "base/check.h"
#include "base/units.h"
#include "platform/clocks/stamps.h"

namespace tempo::sys {

inline Instant boot_clock() {
  timespec time{};
  // A simulated kernel may not have it; nothing sleeps there.
  if (clock_gettime(CLOCK_BOOTTIME, &time) != 0) CHECK(clock_gettime(CLOCK_MONOTONIC, &time) == 0);
  return Instant{nanos_of(time)};
}

// Another one after each start of the kernel; empty: it is not told.
std::string kernel_boot_id();

}  // namespace tempo::sys
