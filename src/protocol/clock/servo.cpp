#include "protocol/clock/servo.h"

#include <algorithm>
#include <cmath>

namespace tempo::clock {

double Servo::limited(double frequency) {
  return std::clamp(frequency, -kMaxFrequency, kMaxFrequency);
}

Steering Servo::steer(Instant now, WallTime wall, const Aim& aim, const Manner& manner) {
  rate_ = aim.rate;
  const Nanos ahead = wall.time_since_epoch() - (now.time_since_epoch() - aim.theta);
  if (std::chrono::abs(ahead) >= manner.step_from) {
    Steering steering = hold();
    steering.step = -ahead;
    return steering;
  }
  const double gap = in_seconds(ahead);
  const double seconds = std::max(in_seconds(manner.period), std::abs(gap) / kMaxFrequency);
  const double wanted = limited(limited(-rate_) - gap / seconds);
  frequency_ = std::clamp(wanted, frequency_ - manner.most_change, frequency_ + manner.most_change);
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
