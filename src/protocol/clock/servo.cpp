#include "protocol/clock/servo.h"

#include <algorithm>
#include <cmath>

namespace tempo::clock {

double Servo::limited(double frequency) {
  return std::clamp(frequency, -kMaxFrequency, kMaxFrequency);
}

Steering Servo::steer(Instant now, WallTime wall, const Aim& aim, const SlewOptions& options) {
  rate_ = aim.rate;
  const Nanos excess = wall.time_since_epoch() - (now.time_since_epoch() - aim.theta);
  if (std::chrono::abs(excess) >= options.step_from) {
    Steering steering = hold();
    steering.step = -excess;
    return steering;
  }
  const double offset = in_seconds(excess);
  const double seconds = std::max(in_seconds(options.period), std::abs(offset) / kMaxFrequency);
  const double wanted = limited(limited(-rate_) - offset / seconds);
  frequency_ =
      std::clamp(wanted, frequency_ - options.most_change, frequency_ + options.most_change);
  return {.frequency = frequency_, .step = 0ns, .settles = Nanos{std::llround(seconds * 1e9)}};
}

Steering Servo::hold() {
  frequency_ = limited(-rate_);
  return {.frequency = frequency_};
}

Steering Servo::hold(double rate) {
  rate_ = rate;
  return hold();
}

}  // namespace tempo::clock
