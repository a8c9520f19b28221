// Exact numbers as decimals: rounded once, to a number of significant digits that is asked for.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "lab/analysis/exact.h"

namespace tempo::analysis {

// What is printed of a number that does not end sooner.
inline constexpr std::size_t kUsualDigits = 40;
// Digits of which one is always sure.
inline constexpr std::size_t kFewestDigits = 30;

// The value rounded to the nearest with so many significant digits (a tie away from zero); fewer if
// it ends sooner. "0.5", "-12.25", "4.172325134e-7" below a millionth.
std::string decimal(const Fraction& value, std::size_t digits = kUsualDigits);

// A number known to lie between two others, both included.
struct Bounds {
  Fraction low;
  Fraction high;
};
// The decimal, if rounding either bound to so many digits gives the same: then it is the number's.
std::optional<std::string> certified_decimal(const Bounds& bounds,
                                             std::size_t digits = kUsualDigits);

}  // namespace tempo::analysis
