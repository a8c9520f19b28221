// Cold path detector: decides if the first exchange of a burst counts.
//
// On some paths the first packet after an idle time is slow in one direction only, so that no
// average over many bursts removes the error. The detector compares the round trips of the first
// and the last exchange of each burst. If the first is longer on average, by more than chance, it
// only warms up the path and its sample is not used.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/units.h"

namespace tempo::clock {

class ColdPathDetector {
 public:
  // Round trips of the first and the last exchange of one burst.
  void compare(Nanos first, Nanos last) {
    const double longer = static_cast<double>((first - last).count());
    count_ = std::min(count_ + 1, kHorizon);
    mean_ += (longer - mean_) / count_;
    square_ += (longer * longer - square_) / count_;
  }

  // True if the first exchange counts; without evidence every exchange does.
  bool first_counts() const {
    const double variance = std::max(square_ - mean_ * mean_, 0.0);
    return count_ < kLeast || mean_ <= kDeviations * std::sqrt(variance / count_);
  }

 private:
  static constexpr double kHorizon = 256;   // bursts in the mean
  static constexpr double kLeast = 8;       // bursts before a decision
  static constexpr double kDeviations = 4;  // standard errors of the mean

  double count_ = 0;   // bursts compared, at most kHorizon
  double mean_ = 0;    // mean excess of the first round trip, in nanoseconds
  double square_ = 0;  // mean square of the excess
};

}  // namespace tempo::clock
