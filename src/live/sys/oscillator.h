// The local timescale: the clock that is never steered.
//
// The real one is CLOCK_MONOTONIC_RAW. The drifting one is made from it for demonstrations, tests
// and unprivileged use: with an offset, a rate and a wander of its own, so that several daemons on
// one machine have as many clocks. Kernel stamps are CLOCK_REALTIME; they are carried over by a
// bracketed reading RAW, REALTIME, RAW, the narrowest of three, and dropped when older than 100 ms
// or taken before a step of the kernel's clock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <time.h>

#include "base/units.h"

namespace tempo::sys {

class Oscillator {
 public:
  virtual ~Oscillator() = default;
  virtual Instant now() = 0;
  // What this timescale showed when CLOCK_MONOTONIC_RAW showed `raw`.
  virtual Instant at(Instant raw) = 0;

  // The instant of a kernel stamp, or nothing if it cannot be trusted.
  std::optional<Instant> from_realtime(const timespec& stamp);
};

struct DriftOptions {
  Nanos offset{0};    // of the wall clock that is read at the start
  double rate = 0;    // 50e-6: gains 50 microseconds a second
  double wander = 0;  // random walk of the rate, per square root of a second
  std::uint64_t seed = 0;
};

std::unique_ptr<Oscillator> real_oscillator();
std::unique_ptr<Oscillator> drifting_oscillator(const DriftOptions& options);

}  // namespace tempo::sys
