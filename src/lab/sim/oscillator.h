// A simulated local clock: an oscillator with an initial error whose frequency changes over time.
//
// The rate is a constant plus a random walk (`wander`), white noise, a daily temperature cycle and
// aging. It is constant for steps of an eighth of a second. Queries must not go back in true time.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/check.h"
#include "base/random.h"
#include "base/units.h"

namespace tempo::sim {

class Oscillator {
 public:
  struct Options {
    double offset = 0;         // local minus true time at the start, in seconds
    double rate = 0;           // frequency error at the start, in seconds per second
    double wander = 0;         // random walk of the rate, per square root of a second
    double white = 0;          // white noise of the phase, per square root of a second
    double aging = 0;          // change of the rate per second
    double cycle = 0;          // amplitude of the temperature's effect on the rate
    double cycle_seconds = 1;  // period of the temperature cycle, in seconds
    double cycle_begins = 0;   // phase of the cycle at the start: 0 to 1
  };

  Oscillator(const Options& options, Stream stream)
      : options_(options), ahead_(options.offset), rate_(options.rate), stream_(stream) {
    begin_step();
  }

  // Local time minus true time, in seconds, at true time t.
  double ahead(double t) {
    CHECK(t >= start_);
    while (t >= start_ + kStep) {
      ahead_ += now_ * kStep;
      start_ += kStep;
      rate_ += stream_.normal(0, options_.wander * std::sqrt(kStep)) + options_.aging * kStep;
      begin_step();
    }
    return ahead_ + now_ * (t - start_);
  }

  // Local time at a true instant.
  Instant shows(Instant truth) {
    if (truth == asked_) return shown_;
    const double t = in_seconds(truth.time_since_epoch());
    asked_ = truth;
    return shown_ = truth + Nanos{std::llround(ahead(t) * 1e9)};
  }
  // Estimated true time at which the clock shows `shown`, at its current rate; `now` is the current
  // true time. Returns `now` if that time has passed.
  Instant when(Instant shown, Instant now) {
    const Nanos left = shown - shows(now);
    if (left <= Nanos{0}) return now;
    return now + Nanos{1 + std::llround(static_cast<double>(left.count()) / (1 + now_))};
  }

  double rate() const { return now_; }
  void jump(double by) {
    ahead_ += by;
    asked_ = kNever;
  }
  // From true time t on.
  void change_rate(double t, double by) {
    ahead(t);
    ahead_ -= by * (t - start_);
    rate_ += by;
    now_ += by;
    asked_ = kNever;
  }

 private:
  static constexpr double kStep = 0.125;

  void begin_step() {
    now_ = rate_ + options_.cycle * cycle();
    if (options_.white > 0) now_ += stream_.normal(0, options_.white / std::sqrt(kStep));
  }
  // A value between -1 and 1 from two parabolas: unlike a sine, it is the same on every machine.
  double cycle() const {
    if (options_.cycle == 0) return 0;
    const double turns = start_ / options_.cycle_seconds + options_.cycle_begins;
    const double part = turns - std::floor(turns);
    return part < 0.5 ? 16 * part * (0.5 - part) : -16 * (part - 0.5) * (1 - part);
  }

  Options options_;
  double start_ = 0;  // true time at which the current step began, in seconds
  double ahead_ = 0;  // local minus true time at start_, in seconds
  double rate_ = 0;   // without noise and temperature
  double now_ = 0;    // rate in the current step
  Stream stream_;
  Instant asked_ = kNever;  // last argument of shows(); kNever: none
  Instant shown_{};         // its result
};

}  // namespace tempo::sim
