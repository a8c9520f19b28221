// The offset and the rate of the local clock against a reference, from exchanges of timestamps.
//
// theta(t) = local raw time minus reference time, as a line; with it a standard error that is an
// estimate, and a bound that is a promise: no delay is negative, and the local clock does not
// change its rate faster than stated.
#pragma once

#include <cstddef>
#include <deque>

#include "base/units.h"
#include "protocol/clock/exchange.h"

namespace tempo::clock {

struct Estimate {
  Nanos theta{0};          // local minus reference at the instant asked for
  double rate = 0;         // of theta: positive when the local clock is fast
  Nanos sigma{0};          // standard error of theta
  Nanos earliest{0};       // theta is certainly not below this
  Nanos latest{0};         // nor above this
  bool disturbed = false;  // samples are held back; the bound includes them
};

class Estimator {
 public:
  // `rate`: what is known of the local clock's rate from an earlier life or reference.
  explicit Estimator(double rate = 0) : rate_(rate) {}

  // False if the exchange is impossible and was dropped.
  bool add(const Exchange& exchange);
  bool ready() const { return !recent_.empty(); }
  std::size_t exchanges() const { return count_; }
  double rate() const { return rate_; }

  // Only when ready().
  Estimate at(Instant now) const;

 private:
  std::deque<Exchange> recent_;  // at most kWindow
  double rate_;
  std::size_t count_ = 0;
};

}  // namespace tempo::clock
