#include "lab/studies/lock/waits.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"

namespace tempo::sim::lock {

// The first 2 * kFine nanoseconds have one bucket each; every further doubling has kFine buckets.
std::size_t Waits::bucket_of(std::uint64_t wait) {
  if (wait < 2 * kFine) return wait;
  const auto shift = static_cast<std::size_t>(std::bit_width(wait / (2 * kFine)));
  return shift * kFine + (wait >> shift);
}

std::uint64_t Waits::top_of(std::size_t bucket) {
  if (bucket < 2 * kFine) return bucket;
  const std::size_t shift = bucket / kFine - 1;
  return ((bucket % kFine + kFine + 1) << shift) - 1;
}

void Waits::add(Nanos wait) {
  CHECK(wait.count() >= 0);
  ++buckets_[bucket_of(static_cast<std::uint64_t>(wait.count()))];
  ++count_;
  sum_ += static_cast<double>(wait.count());
  longest_ = std::max(longest_, wait);
}

void Waits::add(const Waits& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
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
  for (std::size_t i = 0; i < kBuckets; ++i) {
    below += buckets_[i];
    if (below > 0 && static_cast<double>(below) >= wanted)
      return std::min(longest_, Nanos{static_cast<std::int64_t>(top_of(i))});
  }
  return longest_;
}

}  // namespace tempo::sim::lock
