#include "protocol/clock/average.h"

#include <cmath>

#include "protocol/clock/interval.h"
#include "protocol/clock/rejection.h"

namespace tempo::clock {

Average average_of_agreeing(std::span<const Nanos> offsets, Nanos tolerance) {
  if (offsets.empty()) return {};
  // Relative to the first, so that a double holds the differences exactly.
  const auto half = static_cast<double>(tolerance.count()) / 2;
  std::vector<Interval> claims;
  for (const Nanos offset : offsets) {
    const auto difference = static_cast<double>((offset - offsets[0]).count());
    claims.push_back({.low = difference - half, .high = difference + half});
  }
  Average average{.mean = 0ns, .used = largest_consistent(claims).members};
  double sum = 0;
  for (const std::size_t i : average.used)
    sum += static_cast<double>((offsets[i] - offsets[0]).count());
  const auto count = static_cast<double>(average.used.size());
  average.mean = offsets[0] + Nanos{std::llround(sum / count)};
  return average;
}

}  // namespace tempo::clock
