// How long clients waited: the mean and the longest exactly, any quantile within a sixty-fourth, in
// the same memory for ten waits and for a thousand million.
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
  // At least this part of all waits, 0 < part <= 1, was not longer.
  Nanos quantile(double part) const;

 private:
  static constexpr std::size_t kFine = 64;             // drawers for each doubling
  static constexpr std::size_t kDrawers = 58 * kFine;  // up to the largest Nanos
  static std::size_t drawer_of(std::uint64_t wait);
  static std::uint64_t top_of(std::size_t drawer);

  std::array<std::uint64_t, kDrawers> drawers_{};
  std::uint64_t count_ = 0;
  double sum_ = 0;
  Nanos longest_{0};
};

}  // namespace tempo::sim::lock
