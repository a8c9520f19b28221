// The steered clock: a line over raw time, given by a reading and a rate.
//
// A step moves the line; a new rate applies from the current reading on. Between these changes
// every reading can be computed, also for a short time into the past.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/check.h"
#include "base/units.h"

namespace tempo::clock {

class SteeredClock {
 public:
  SteeredClock() = default;
  SteeredClock(Instant at, WallTime shows, double rate)
      : anchor_(at), shows_(shows.time_since_epoch()), rate_(in_femtos(rate)) {}

  WallTime at(Instant raw) const {
    const Nanos passed = raw - anchor_;
    const double gained = static_cast<double>(passed.count()) * rate();
    return WallTime{shows_ + passed + Nanos{std::llround(gained)}};
  }

  // Rate against raw time: 1e-6 means that it gains a microsecond per second.
  double rate() const { return static_cast<double>(rate_) * 1e-15; }

  // Sets the rate from `now` on; the reading at `now` does not change.
  void set_rate(Instant now, double rate) {
    CHECK(rate > -0.5 && rate < 0.5);
    shows_ = at(now).time_since_epoch();
    anchor_ = now;
    rate_ = in_femtos(rate);
  }
  void step(Nanos by) { shows_ += by; }

 private:
  static std::int64_t in_femtos(double rate) { return std::llround(rate * 1e15); }

  Instant anchor_{};       // raw time of the last change of the rate
  Nanos shows_{0};         // reading at the anchor, since 1970
  std::int64_t rate_ = 0;  // parts in 10^15
};

}  // namespace tempo::clock
