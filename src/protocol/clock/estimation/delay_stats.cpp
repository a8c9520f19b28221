#include "protocol/clock/estimation/delay_stats.h"

#include <algorithm>

#include "base/check.h"

namespace tempo::clock {

Quantiles quantiles(std::vector<double> values) {
  CHECK(!values.empty());
  std::ranges::sort(values);
  const auto at = [&values](std::size_t percent) {
    return values[(values.size() - 1) * percent / 100];
  };
  return {.least = values.front(), .low = at(20), .median = at(50), .high = at(95)};
}

void DelayStats::measure(const Slots& slots, const Line& theta) {
  const std::size_t count = std::min(slots.size(), kSlots);
  std::vector<double> sums(count, 0.0);
  for (const Direction direction : kDirections) {
    std::vector<double>& residuals = residuals_[index(direction)];
    residuals.resize(count);
    for (std::size_t age = 0; age < count; ++age) {
      residuals[age] = slots.back(age).least[direction].delay(direction, theta);
      sums[age] += residuals[age];
    }
    directions_[index(direction)] = quantiles(residuals);
  }
  round_trip_ = quantiles(std::move(sums));
}

double DelayStats::least_of(Direction direction, std::size_t length) const {
  const std::vector<double>& residuals = residuals_[index(direction)];
  CHECK(length > 0 && residuals.size() >= length);
  const std::size_t blocks = residuals.size() / length;
  double sum = 0;
  for (std::size_t block = 0; block < blocks; ++block)
    sum += *std::ranges::min_element(std::span(residuals).subspan(block * length, length));
  return sum / static_cast<double>(blocks);
}

}  // namespace tempo::clock
