#include "lab/studies/lock/waits.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"

namespace tempo::sim::lock {

// The first 2 * kFine nanoseconds have a drawer each; from there every doubling has kFine of them.
std::size_t Waits::drawer_of(std::uint64_t wait) {
  if (wait < 2 * kFine) return wait;
  const auto shift = static_cast<std::size_t>(std::bit_width(wait / (2 * kFine)));
  return shift * kFine + (wait >> shift);
}

std::uint64_t Waits::top_of(std::size_t drawer) {
  if (drawer < 2 * kFine) return drawer;
  const std::size_t shift = drawer / kFine - 1;
  return ((drawer % kFine + kFine + 1) << shift) - 1;
}

void Waits::add(Nanos wait) {
  CHECK(wait.count() >= 0);
  ++drawers_[drawer_of(static_cast<std::uint64_t>(wait.count()))];
  ++count_;
  sum_ += static_cast<double>(wait.count());
  longest_ = std::max(longest_, wait);
}

void Waits::add(const Waits& other) {
  for (std::size_t i = 0; i < kDrawers; ++i) drawers_[i] += other.drawers_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  longest_ = std::max(longest_, other.longest_);
}

Nanos Waits::mean() const {
  return Nanos{count_ == 0 ? 0 : std::llround(sum_ / static_cast<double>(count_))};
}

Nanos Waits::quantile(double part) const {
  CHECK(part > 0 && part <= 1);
  const double wanted = part * static_cast<double>(count_);
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < kDrawers; ++i) {
    below += drawers_[i];
    if (below > 0 && static_cast<double>(below) >= wanted)
      return std::min(longest_, Nanos{static_cast<std::int64_t>(top_of(i))});
  }
  return longest_;
}

}  // namespace tempo::sim::lock
