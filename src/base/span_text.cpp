#include "base/span_text.h"

#include <array>
#include <charconv>
#include <cstdint>

#include <fmt/core.h>

namespace tempo {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t nanos;
};
constexpr std::array<Unit, 6> kUnits{{{"ns", 1},
                                      {"us", 1'000},
                                      {"ms", 1'000'000},
                                      {"s", 1'000'000'000},
                                      {"min", 60'000'000'000},
                                      {"h", 3'600'000'000'000}}};
constexpr std::int64_t kMaxNanos = 10LL * 366 * 24 * 3'600'000'000'000;

std::string not_a_duration(std::string_view text) {
  return fmt::format(
      "'{}' is not a duration; write a number and a unit, for example 250ms, 1.5s or 100us", text);
}

// The duration in kUnits[i] (at most a second), exact and without trailing zeros.
std::string in_unit(std::int64_t nanos, std::size_t i) {
  const std::int64_t unit = kUnits[i].nanos;
  std::string text = fmt::format("{}", nanos / unit);
  if (nanos % unit == 0) return text;
  std::string decimals = fmt::format("{:0{}}", nanos % unit, 3 * i);
  decimals.erase(decimals.find_last_not_of('0') + 1);
  return text + '.' + decimals;
}

}  // namespace

Result<Nanos> parse_span(std::string_view text) {
  // Format: whole part, optional fraction of at most nine digits, unit; no unit means seconds.
  std::int64_t whole = 0;
  const char* end = text.data() + text.size();
  const auto [after_whole, failure] = std::from_chars(text.data(), end, whole);
  if (failure != std::errc{} || whole < 0 || text.starts_with('-'))
    return std::unexpected(not_a_duration(text));
  const char* at = after_whole;
  std::int64_t fraction = 0;
  std::int64_t scale = 1;
  if (at != end && *at == '.') {
    const char* first_digit = ++at;
    while (at != end && *at >= '0' && *at <= '9' && at - first_digit < 9) {
      fraction = fraction * 10 + (*at++ - '0');
      scale *= 10;
    }
    if (at == first_digit) return std::unexpected(not_a_duration(text));
  }
  const std::string_view name = at == end ? "s" : std::string_view(at, end);
  for (const Unit& unit : kUnits) {
    if (unit.name != name) continue;
    if (whole > kMaxNanos / unit.nanos)
      return std::unexpected(fmt::format("'{}' is longer than ten years, the maximum", text));
    // fraction < scale <= 1e9 and unit <= 3.6e12: the product may need more than 63 bits, so the
    // unit is divided first.
    const std::int64_t step = unit.nanos / scale;
    const bool exact = unit.nanos % scale == 0 || (fraction * (unit.nanos % scale)) % scale == 0;
    if (!exact)
      return std::unexpected(
          fmt::format("'{}' is finer than a nanosecond; use fewer decimals", text));
    return Nanos{whole * unit.nanos + fraction * step + fraction * (unit.nanos % scale) / scale};
  }
  return std::unexpected(not_a_duration(text));
}

std::string span_text(Nanos span) {
  const std::int64_t nanos = span.count();
  if (nanos == 0) return "0s";
  // The largest unit up to a second that does not exceed the duration; the rest become decimals.
  std::size_t i = 3;
  while (nanos < kUnits[i].nanos) --i;
  return in_unit(nanos, i) + std::string(kUnits[i].name);
}

std::string milliseconds_text(Nanos span) {
  constexpr std::size_t kMilliseconds = 2;
  return in_unit(span.count(), kMilliseconds);
}

}  // namespace tempo
