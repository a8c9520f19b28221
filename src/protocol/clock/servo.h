// Steering: who bends the dial, or the kernel's clock.
//
// History lives on the raw clock, so steering never disturbs the estimate. Once a second the servo
// looks how far the wall clock is from the network's time and chooses a rate that would close the
// gap within a second, limited to what the kernel can do; a clock that is slewed never goes back.
// It is stepped only when that is allowed: at the start, or when the gap is beyond the limit. With
// no reference the last good rate goes on.
#pragma once

#include <optional>

#include "base/units.h"
#include "protocol/clock/estimator.h"

namespace tempo::clock {

struct Steering {
  double frequency = 0;  // of the wall clock against raw
  Nanos step{0};         // to be added at once; usually 0
};

class Servo {
 public:
  struct Options {
    double most_frequency = 500e-6;
    // A gap that a step may close after the start; without a limit only the start steps.
    std::optional<Nanos> step_limit;
    Nanos period = 1s;  // in which a gap is to be closed
  };

  Servo() = default;
  explicit Servo(const Options& options) : options_(options) {}

  // What to do now: `wall` is what the wall clock shows at `now`.
  Steering steer(Instant now, WallTime wall, const Estimate& estimate);
  // The reference is gone: no gap is known any more, the rate is.
  Steering hold() const { return {.frequency = limited(-rate_), .step = 0ns}; }

 private:
  double limited(double frequency) const;

  Options options_;
  bool started_ = false;  // the step of the start has been used or was not needed
  double rate_ = 0;       // of theta, as last heard
};

// Where the network's time certainly is at `now`.
struct TimeBound {
  WallTime earliest;
  WallTime latest;
};
TimeBound time_bound(Instant now, const Estimate& estimate);

}  // namespace tempo::clock
