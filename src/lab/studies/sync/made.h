// Constructed samples and slots, for tests of single parts of the estimator.
#pragma once

#include "base/random.h"
#include "protocol/clock/estimation/line.h"
#include "protocol/clock/estimation/sample.h"
#include "protocol/clock/estimation/slots.h"

namespace tempo::clock::testing {

// An exchange begun at t that took `out` and `back` seconds while theta followed the line.
inline Sample made(double t, const Line& theta, double out, double back) {
  const double end = t + out + back;
  return {{Reading{.t = t, .value = out - theta.at(t)},
           Reading{.t = end, .value = back + theta.at(end)}}};
}

// Slots one second apart, with a minimum delay of 100 us in each direction and exponential jitter.
class SlotMaker {
 public:
  SlotMaker(Line theta, double jitter, std::uint64_t seed = 1)
      : theta_(theta), jitter_(jitter), stream_(seed, 0, 0) {}

  Sample next() {
    const double out = kFloor + extra_out + stream_.exponential(jitter_);
    const double back = kFloor + extra_back + stream_.exponential(jitter_);
    return made(t_++, theta_, out, back);
  }
  void add(Slots& slots) {
    const Sample sample = next();
    slots.add(sample, sample, theta_.rate);
  }
  void add(Slots& slots, int count) {
    for (int i = 0; i < count; ++i) add(slots);
  }

  static constexpr double kFloor = 100e-6;
  double extra_out = 0;
  double extra_back = 0;

 private:
  Line theta_;
  double jitter_;
  Stream stream_;
  double t_ = 0.5;
};

}  // namespace tempo::clock::testing
