// Steering: who bends the dial, or the kernel's clock.
//
// History lives on the raw clock, so steering never disturbs the estimate. Now and then the servo
// looks how far the wall clock is from where it should be and chooses a rate that would close the
// gap within a period, limited to what the kernel can do; a clock that is slewed never goes back.
// When the gap is closed the rate alone goes on. Only a gap as large as the caller names is closed
// by a step. With no reference the last good rate goes on.
#pragma once

#include <limits>

#include "base/units.h"

namespace tempo::clock {

struct Steering {
  double frequency = 0;  // of the wall clock against raw
  Nanos step{0};         // to be added at once; usually 0
  Nanos settles{0};      // when the gap is closed: time for hold()
};

// Where the wall clock should be: raw time less theta, which grows by `rate`.
struct Aim {
  Nanos theta{0};
  double rate = 0;
};

// How a gap is closed.
struct Manner {
  Nanos period = 1s;               // in which a small one is closed
  Nanos step_from = Nanos::max();  // a gap as large as this is closed by a step
  // By how much the frequency may change at once: who publishes its time must be predictable.
  double most_change = std::numeric_limits<double>::infinity();
};

class Servo {
 public:
  static constexpr double kMaxFrequency = 500e-6;

  Servo() = default;
  // `rate` of theta, known from an earlier life.
  explicit Servo(double rate) : rate_(rate), frequency_(limited(-rate)) {}

  // What to do now: `wall` is what the wall clock shows at `now`.
  Steering steer(Instant now, WallTime wall, const Aim& aim, const Manner& manner);
  // No gap is known any more, the rate is.
  Steering hold();
  // As if `rate` had been aimed at.
  Steering hold(double rate);

  double rate() const { return rate_; }  // of theta, as last heard

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("rate", self.rate_);
    visit("frequency", self.frequency_);
  }

 private:
  static double limited(double frequency);

  double rate_ = 0;
  double frequency_ = 0;  // as last chosen
};

}  // namespace tempo::clock
