// CLOCK_BOOTTIME, on which the deadlines of locks are given: it also runs while the machine is
// suspended.
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
