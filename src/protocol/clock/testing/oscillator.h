// A simulated local clock: an oscillator whose rate is wrong from the start and wanders.
//
// The rate walks at random, by `wander` per square root of a second; it is constant for an eighth
// of a second at a time. True time goes forward only.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/check.h"
#include "base/random.h"
#include "base/units.h"

namespace tempo::clock::testing {

class Oscillator {
 public:
  Oscillator(double rate, double wander, Stream stream)
      : rate_(rate), kick_(wander * std::sqrt(kStep)), stream_(stream) {}

  // Local time minus true time, in seconds, at true time t.
  double ahead(double t) {
    CHECK(t >= start_);
    while (t >= start_ + kStep) {
      ahead_ += rate_ * kStep;
      start_ += kStep;
      rate_ += stream_.normal(0, kick_);
    }
    return ahead_ + rate_ * (t - start_);
  }
  Instant reading(double t) {
    return Instant{kBoot + Nanos{std::llround(t * 1e9)} + Nanos{std::llround(ahead(t) * 1e9)}};
  }
  // Theta against a reference that shows true time and epoch().
  Nanos theta(double t) { return reading(t).time_since_epoch() - wall(t).time_since_epoch(); }
  static WallTime wall(double t) { return WallTime{kEpoch + Nanos{std::llround(t * 1e9)}}; }

  double rate() const { return rate_; }
  void jump(double by) { ahead_ += by; }
  void change_rate(double by) { rate_ += by; }

 private:
  static constexpr double kStep = 0.125;
  static constexpr Nanos kBoot = 1000s;
  static constexpr Nanos kEpoch = std::chrono::hours{24 * 365 * 55};

  double rate_;
  double kick_;
  Stream stream_;
  double start_ = 0;  // of the present step
  double ahead_ = 0;  // at its start
};

}  // namespace tempo::clock::testing
