#include "protocol/clock/estimation/sample.h"

#include <cmath>

#include "base/check.h"

namespace tempo::clock {
namespace {

// Timestamps more than 73 years from their epoch are invalid; within that range nothing overflows.
constexpr Nanos kFarthest = Nanos::max() / 4;

bool valid(Nanos reading) { return reading > -kFarthest && reading < kFarthest; }

}  // namespace

std::optional<Sample> Frame::sample(const Exchange& exchange) {
  const Nanos asked = exchange.asked.time_since_epoch();
  const Nanos received = exchange.received.time_since_epoch();
  const Nanos answered = exchange.answered.time_since_epoch();
  const Nanos heard = exchange.heard.time_since_epoch();
  if (!valid(asked) || !valid(received) || !valid(answered) || !valid(heard)) return std::nullopt;
  if (answered < received || heard - asked < answered - received) return std::nullopt;
  if (!start_) {
    // Half a second early, so that exchanges at intervals of a second are not at the edges of
    // slots.
    start_ = exchange.asked - 500ms;
    offset_ = asked - received;
  }
  return Sample{
      {Reading{.t = seconds(exchange.asked), .value = in_seconds(received - asked + offset_)},
       Reading{.t = seconds(exchange.heard), .value = in_seconds(heard - answered - offset_)}}};
}

double Frame::seconds(Instant at) const {
  CHECK(start_.has_value());
  return in_seconds(at - *start_);
}

Nanos Frame::theta_down(double theta) const {
  return offset_ + Nanos{static_cast<Nanos::rep>(std::floor(theta * 1e9))};
}

Nanos Frame::theta_up(double theta) const {
  return offset_ + Nanos{static_cast<Nanos::rep>(std::ceil(theta * 1e9))};
}

}  // namespace tempo::clock
