// Types for quantities.
//
// A duration, a reading of the local monotonic clock, a reading of the steered clock and a
// frequency have four different types; mixing them does not compile. Durations and instants are
// std::chrono types with 64-bit nanoseconds, so that `250ms` and `now + timeout` work. An Instant
// is compared only with Instants of the same machine and is never sent to another.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace tempo {

using namespace std::chrono_literals;

using Nanos = std::chrono::nanoseconds;

constexpr double in_seconds(Nanos span) { return static_cast<double>(span.count()) * 1e-9; }

struct LocalMonotonic {
  using rep = Nanos::rep;
  using period = Nanos::period;
  using duration = Nanos;
  using time_point = std::chrono::time_point<LocalMonotonic>;
  static constexpr bool is_steady = true;
};
using Instant = LocalMonotonic::time_point;

struct SteeredKernelClock {
  using rep = Nanos::rep;
  using period = Nanos::period;
  using duration = Nanos;
  using time_point = std::chrono::time_point<SteeredKernelClock>;
  static constexpr bool is_steady = false;
};
using WallTime = SteeredKernelClock::time_point;

// The deadline of a timer that is not set.
inline constexpr Instant kNever = Instant::max();

// A frequency error in parts per billion (10^9).
struct Ppb {
  std::int64_t value = 0;
  auto operator<=>(const Ppb&) const = default;
};

}  // namespace tempo
