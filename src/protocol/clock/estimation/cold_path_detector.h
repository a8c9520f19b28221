// Which exchanges of a burst count: a path that has been idle may be slow for the first packet.
//
// Slow one way only, so that no average over many bursts removes it. Whether the path here is of
// that kind is seen by comparing the round trips of the first and the last exchange of each burst:
// if the first is longer on the whole, by more than chance, it only warms the path up.
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

  // Until there is evidence, every exchange counts.
  bool first_counts() const {
    const double variance = std::max(square_ - mean_ * mean_, 0.0);
    return count_ < kLeast || mean_ <= kDeviations * std::sqrt(variance / count_);
  }

 private:
  static constexpr double kHorizon = 256;  // bursts
  static constexpr double kLeast = 8;
  static constexpr double kDeviations = 4;

  double count_ = 0;
  double mean_ = 0;    // of the first's excess, in nanoseconds
  double square_ = 0;  // and its mean square
};

}  // namespace tempo::clock
