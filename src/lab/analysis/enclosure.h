// Interval arithmetic: numbers enclosed between two bounds, always rounded outwards.
//
// Both bounds are multiples of 2^-bits. Zero stays exactly zero. Used where exact fractions would
// have far more digits than are printed.
#pragma once

#include <cstdint>
#include <utility>

#include "lab/analysis/decimal.h"
#include "lab/analysis/exact.h"

namespace tempo::analysis {

class Enclosure {
 public:
  Enclosure(Whole low, Whole high, std::uint32_t bits)
      : low_(std::move(low)), high_(std::move(high)), bits_(bits) {}

  Enclosure& operator+=(const Enclosure& other);
  friend Enclosure operator+(Enclosure left, const Enclosure& right) { return left += right; }
  friend Enclosure operator-(const Enclosure& left, const Enclosure& right);
  friend Enclosure operator*(const Enclosure& left, const Enclosure& right);
  friend Enclosure operator*(const Enclosure& left, const Whole& right);  // right >= 0
  // The divisor must be positive and the dividend not negative.
  friend Enclosure operator/(const Enclosure& left, const Enclosure& right);

  Bounds bounds() const;

 private:
  Whole low_;
  Whole high_;
  std::uint32_t bits_;
};

// Creates enclosures of one precision.
class EnclosureScale {
 public:
  explicit EnclosureScale(std::uint32_t bits) : bits_(bits) {}

  Enclosure whole(std::int64_t value) const;
  Enclosure fraction(const Whole& numerator, const Whole& denominator) const;  // denominator > 0

 private:
  std::uint32_t bits_;
};

}  // namespace tempo::analysis
