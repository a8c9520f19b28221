// Servo: computes the frequency of the steered clock.
//
// Samples are stored on the raw clock, so steering does not disturb the estimate. At each call the
// servo computes the wall clock's offset from its target and a frequency that corrects the offset
// within a period, limited to the range of the kernel; a slewed clock never goes back. When the
// offset is corrected, only the frequency remains. The servo steps the clock only for an offset of
// at least `step_from`. Without a reference (holdover) it keeps the last frequency.
#pragma once

#include <limits>

#include "base/units.h"

namespace tempo::clock {

struct Steering {
  double frequency = 0;  // of the wall clock against raw time, in seconds per second
  Nanos step{0};         // to add at once; usually 0
  Nanos settles{0};      // time until the offset is corrected and the caller calls hold()
};

// The target of the wall clock: raw time minus theta, which grows by `rate`.
struct Aim {
  Nanos theta{0};
  double rate = 0;  // in seconds per second
};

// Limits for the correction of an offset.
struct SlewOptions {
  Nanos period = 1s;               // time to correct a small offset
  Nanos step_from = Nanos::max();  // smallest offset that is corrected by a step
  // Largest change of the frequency in one call: the published time of a master must be
  // predictable.
  double most_change = std::numeric_limits<double>::infinity();
};

class Servo {
 public:
  static constexpr double kMaxFrequency = 500e-6;  // limit of the kernel

  Servo() = default;
  // `rate` of theta, known from before a restart.
  explicit Servo(double rate) : rate_(rate), frequency_(limited(-rate)) {}

  // Corrects the offset of the wall clock, which shows `wall` at `now`.
  Steering steer(Instant now, WallTime wall, const Aim& aim, const SlewOptions& options);
  // Keeps the rate of the last target and corrects no offset.
  Steering hold();
  // The same with this rate of theta.
  Steering hold(double rate);

  double rate() const { return rate_; }  // rate of theta in the last call

 private:
  static double limited(double frequency);

  double rate_ = 0;       // of theta
  double frequency_ = 0;  // last frequency returned
};

}  // namespace tempo::clock
