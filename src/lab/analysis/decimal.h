// Exact numbers as decimals, rounded once to a given number of significant digits.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "lab/analysis/exact.h"

namespace tempo::analysis {

// Significant digits printed for a number whose decimal expansion is longer.
inline constexpr std::size_t kUsualDigits = 40;
// Significant digits that are always certain.
inline constexpr std::size_t kFewestDigits = 30;

// The value rounded to the nearest number with `digits` significant digits (ties away from zero),
// or fewer if its expansion is shorter. "0.5", "-12.25", "4.172325134e-7" below a millionth.
std::string decimal(const Fraction& value, std::size_t digits = kUsualDigits);

// A number known to lie between two others, both included.
struct Bounds {
  Fraction low;
  Fraction high;
};
// The decimal, if both bounds round to the same `digits` digits; these are then the number's
// digits.
std::optional<std::string> certified_decimal(const Bounds& bounds,
                                             std::size_t digits = kUsualDigits);

}  // namespace tempo::analysis
