// Quantities as types.
//
// A span of time, a reading of the local monotonic clock, a reading of the clock we steer and a
// frequency are four different things; mixing them does not compile. Spans and instants are
// std::chrono types with 64-bit nanoseconds, so that `250ms` and `now + timeout` read as they
// should. An Instant is only ever compared with Instants of the same machine: it never travels.
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

// A timer that is not set, a deadline that never comes.
inline constexpr Instant kNever = Instant::max();

// A frequency error in parts per thousand million.
struct Ppb {
  std::int64_t value = 0;
  auto operator<=>(const Ppb&) const = default;
};

}  // namespace tempo
