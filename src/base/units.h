// Types for quantities.
//
// A duration, a frequency and the readings of three clocks have five different types; mixing them
// does not compile. Durations and readings are std::chrono types with 64-bit nanoseconds, so that
// `250ms` and `now + timeout` work.
//
//   Instant    raw time (CLOCK_MONOTONIC_RAW): synchronization, master elections, timers
//   BootTime   boot time (CLOCK_BOOTTIME), which also runs while the machine is suspended: leases
//   WallTime   the steered clock, which shows network time
//
// Instants and BootTimes are compared only with those of the same machine and are never sent to
// another.
#pragma once

#include <chrono>
#include <compare>
#include <concepts>
#include <cstdint>

namespace tempo {

using namespace std::chrono_literals;

using Nanos = std::chrono::nanoseconds;

constexpr double in_seconds(Nanos span) { return static_cast<double>(span.count()) * 1e-9; }

struct KernelRawClock {
  using rep = Nanos::rep;
  using period = Nanos::period;
  using duration = Nanos;
  using time_point = std::chrono::time_point<KernelRawClock>;
  static constexpr bool is_steady = true;
};
using Instant = KernelRawClock::time_point;

struct KernelBootClock {
  using rep = Nanos::rep;
  using period = Nanos::period;
  using duration = Nanos;
  using time_point = std::chrono::time_point<KernelBootClock>;
  static constexpr bool is_steady = true;
};
using BootTime = KernelBootClock::time_point;

struct SteeredKernelClock {
  using rep = Nanos::rep;
  using period = Nanos::period;
  using duration = Nanos;
  using time_point = std::chrono::time_point<SteeredKernelClock>;
  static constexpr bool is_steady = false;
};
using WallTime = SteeredKernelClock::time_point;

template <class T>
concept TimePoint =
    std::same_as<T, Instant> || std::same_as<T, BootTime> || std::same_as<T, WallTime>;

// The deadline of a timer that is not set, on any clock.
struct Never {
  template <TimePoint Time>
  constexpr operator Time() const {  // NOLINT(google-explicit-constructor)
    return Time::max();
  }
  template <TimePoint Time>
  friend constexpr bool operator==(Time time, Never /*never*/) {
    return time == Time::max();
  }
};
inline constexpr Never kNever;

// The difference of two clocks of one host at one moment, and the time that `To` shows when another
// clock shows `time` and `offset` is To minus that clock.
constexpr Nanos clock_offset(TimePoint auto clock, TimePoint auto other) {
  return clock.time_since_epoch() - other.time_since_epoch();
}
template <TimePoint To>
constexpr To on_clock(TimePoint auto time, Nanos offset) {
  return time == kNever ? To{kNever} : To{time.time_since_epoch() + offset};
}

// A frequency error in parts per billion (10^9).
struct Ppb {
  std::int64_t value = 0;
  auto operator<=>(const Ppb&) const = default;
};

}  // namespace tempo
