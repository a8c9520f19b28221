#include "protocol/clock/servo.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tempo::clock {
namespace {

constexpr Nanos kFirstStep = 1us;  // a start that is nearer needs no step

}  // namespace

double Servo::limited(double frequency) const {
  return std::clamp(frequency, -options_.most_frequency, options_.most_frequency);
}

Steering Servo::steer(Instant now, WallTime wall, const Estimate& estimate) {
  rate_ = estimate.rate;
  const Nanos target = now.time_since_epoch() - estimate.theta;
  const Nanos ahead = wall.time_since_epoch() - target;
  const bool first = !std::exchange(started_, true);
  const Nanos limit = first ? kFirstStep : options_.step_limit.value_or(Nanos::max());
  if (std::chrono::abs(ahead) > limit) return {.frequency = limited(-rate_), .step = -ahead};
  const double close =
      static_cast<double>(ahead.count()) / static_cast<double>(options_.period.count());
  return {.frequency = limited(-rate_ - close), .step = 0ns};
}

TimeBound time_bound(Instant now, const Estimate& estimate) {
  const WallTime raw{now.time_since_epoch()};
  return {.earliest = raw - estimate.latest, .latest = raw - estimate.earliest};
}

}  // namespace tempo::clock
