// The clock that deadlines of locks are told by: it goes on while the machine sleeps.
#pragma once

#include <chrono>

#include <time.h>

namespace tempo {

inline std::chrono::nanoseconds boot_clock() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

}  // namespace tempo
