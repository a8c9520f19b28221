// A simulated local clock: an oscillator that is wrong from the start and becomes wrong
// differently.
//
// Its rate is a constant, plus a walk at random (`wander` per square root of a second), plus white
// noise, plus a day's temperature, plus aging; for an eighth of a second at a time it is constant.
// True time goes forward only.
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
    double offset = 0;         // seconds ahead of true time at the start
    double rate = 0;           // gained per second at the start
    double wander = 0;         // of the rate, per square root of a second
    double white = 0;          // of the phase, per square root of a second
    double aging = 0;          // of the rate, per second
    double cycle = 0;          // of the rate: how far the temperature moves it to each side
    double cycle_seconds = 1;  // how long that takes, there and back
    double cycle_begins = 0;   // where in the cycle it starts: 0 to 1
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

  // What it shows at a true instant, counted from `start`.
  Instant shows(Instant truth) {
    const double t = in_seconds(truth.time_since_epoch());
    return truth + Nanos{std::llround(ahead(t) * 1e9)};
  }
  // About when it will show this, by its present rate; `now` is the truth by now.
  Instant when(Instant shown, Instant now) {
    const Nanos left = shown - shows(now);
    if (left <= Nanos{0}) return now;
    return now + Nanos{1 + std::llround(static_cast<double>(left.count()) / (1 + now_))};
  }

  double rate() const { return now_; }
  void jump(double by) { ahead_ += by; }
  void change_rate(double by) {
    rate_ += by;
    now_ += by;
  }

 private:
  static constexpr double kStep = 0.125;

  void begin_step() {
    now_ = rate_ + options_.cycle * cycle();
    if (options_.white > 0) now_ += stream_.normal(0, options_.white / std::sqrt(kStep));
  }
  // Between -1 and 1, two parabolas: a sine that is the same on every machine.
  double cycle() const {
    if (options_.cycle == 0) return 0;
    const double turns = start_ / options_.cycle_seconds + options_.cycle_begins;
    const double part = turns - std::floor(turns);
    return part < 0.5 ? 16 * part * (0.5 - part) : -16 * (part - 0.5) * (1 - part);
  }

  Options options_;
  double start_ = 0;  // of the present step
  double ahead_ = 0;  // at its start
  double rate_ = 0;   // without noise and temperature
  double now_ = 0;    // in the present step
  Stream stream_;
};

}  // namespace tempo::sim
