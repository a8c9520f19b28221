// Delay statistics: the newest residuals against the combined line, and their quantiles.
//
// A residual is a reading plus or minus theta: the delay, if theta is correct. The sum of both
// directions does not depend on theta.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "protocol/clock/estimation/line.h"
#include "protocol/clock/estimation/sample.h"
#include "protocol/clock/estimation/slots.h"

namespace tempo::clock {

struct Quantiles {
  double least = 0;
  double low = 0;  // 20 %
  double median = 0;
  double high = 0;  // 95 %

  double spread() const { return median - least; }
};

// The quantiles of a set that is not empty.
Quantiles quantiles(std::vector<double> values);

class DelayStats {
 public:
  static constexpr std::size_t kSlots = 128;

  void measure(const Slots& slots, const Line& theta);
  bool known() const { return !residuals_[0].empty(); }

  const Quantiles& of(Direction direction) const { return directions_[index(direction)]; }
  const Quantiles& round_trip() const { return round_trip_; }
  // Mean of the least residuals of blocks of `length` slots.
  double least_of(Direction direction, std::size_t length) const;

 private:
  std::array<std::vector<double>, 2> residuals_;  // at most kSlots each, newest first
  std::array<Quantiles, 2> directions_{};
  Quantiles round_trip_;
};

}  // namespace tempo::clock
