#include "lab/analysis/decimal.h"

#include <cstdint>
#include <utility>

#include <fmt/core.h>

#include "base/check.h"

namespace tempo::analysis {
namespace {

constexpr std::int64_t kSmallestPlain = -7;  // 1e-7 and below are printed with an exponent

// 10 to the power of `exponent`, which may be negative.
Fraction power_of_ten(std::int64_t exponent) {
  const Whole power = Whole::power(10, static_cast<std::uint64_t>(std::abs(exponent)));
  return exponent >= 0 ? Fraction{power} : Fraction{1, power};
}

// Position of the first digit of a positive value: 10^e <= value < 10^(e+1).
std::int64_t first_place(const Fraction& value) {
  auto place = static_cast<std::int64_t>(value.numerator().digits()) -
               static_cast<std::int64_t>(value.denominator().digits());
  if (value < power_of_ten(place)) --place;
  return place;
}

Whole rounded(const Fraction& value) {
  return (value.numerator() * 2 + value.denominator()).divided_down(value.denominator() * 2);
}

std::string written(std::string figures, std::int64_t place, bool ends) {
  // A trailing zero of a rounded number is a certain digit; keep it.
  while (ends && figures.size() > 1 && figures.back() == '0') figures.pop_back();
  const auto size = static_cast<std::int64_t>(figures.size());
  if (place <= kSmallestPlain) {
    if (figures.size() > 1) figures.insert(1, ".");
    return fmt::format("{}e{}", figures, place);
  }
  if (place < 0) return "0." + std::string(static_cast<std::size_t>(-place - 1), '0') + figures;
  if (size <= place + 1)
    return figures + std::string(static_cast<std::size_t>(place + 1 - size), '0');
  return figures.insert(static_cast<std::size_t>(place) + 1, ".");
}

}  // namespace

std::string decimal(const Fraction& value, std::size_t digits) {
  CHECK(digits >= 1);
  if (value.zero()) return "0";
  if (value < Fraction{0}) return "-" + decimal(Fraction{0} - value, digits);
  std::int64_t place = first_place(value);
  const auto last = static_cast<std::int64_t>(digits) - 1;
  const Fraction scaled = value * power_of_ten(last - place);
  const Whole figures = rounded(scaled);
  if (figures.digits() > digits) ++place;  // 9.99 became 10.0; the dropped digit is a zero
  return written(figures.text().substr(0, digits), place, Fraction{figures} == scaled);
}

std::optional<std::string> certified_decimal(const Bounds& bounds, std::size_t digits) {
  std::string text = decimal(bounds.low, digits);
  if (text != decimal(bounds.high, digits)) return std::nullopt;
  return text;
}

}  // namespace tempo::analysis
