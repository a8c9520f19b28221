// Histogram of waiting times: exact mean and maximum, any quantile within 1/64, in constant memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/units.h"

namespace tempo::sim::lock {

class Waits {
 public:
  void add(Nanos wait);
  void add(const Waits& other);

  std::uint64_t count() const { return count_; }
  Nanos mean() const;
  Nanos longest() const { return longest_; }
  // Smallest wait that at least the fraction `part` of all waits does not exceed; 0 < part <= 1.
  Nanos quantile(double part) const;

 private:
  static constexpr std::size_t kFine = 64;             // buckets per doubling
  static constexpr std::size_t kBuckets = 58 * kFine;  // up to the largest Nanos
  static std::size_t bucket_of(std::uint64_t wait);
  static std::uint64_t top_of(std::size_t bucket);

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  double sum_ = 0;
  Nanos longest_{0};
};

}  // namespace tempo::sim::lock
