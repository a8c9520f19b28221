// The simulated clock of lab/sim, seen by a client of a reference with true time.
#pragma once

#include <cmath>

#include "base/random.h"
#include "base/units.h"
#include "lab/sim/oscillator.h"

namespace tempo::clock::testing {

class Oscillator : public sim::Oscillator {
 public:
  Oscillator(double rate, double wander, Stream stream)
      : sim::Oscillator({.rate = rate, .wander = wander}, stream) {}

  Instant reading(double t) {
    return Instant{kBoot + Nanos{std::llround(t * 1e9)} + Nanos{std::llround(ahead(t) * 1e9)}};
  }
  // Theta relative to a reference that shows true time.
  Nanos theta(double t) { return reading(t).time_since_epoch() - wall(t).time_since_epoch(); }
  static WallTime wall(double t) { return WallTime{kEpoch + Nanos{std::llround(t * 1e9)}}; }

 private:
  static constexpr Nanos kBoot = 1000s;
  static constexpr Nanos kEpoch = std::chrono::hours{24 * 365 * 55};
};

}  // namespace tempo::clock::testing
