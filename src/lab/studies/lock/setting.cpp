#include "lab/studies/lock/setting.h"

#include <algorithm>
#include <cmath>

namespace tempo::sim::lock {

tempo::lock::Bounds bounds_of(const Setup& setup) {
  const auto shortest = static_cast<double>(setup.step_max.count()) * setup.gamma;
  return {.step_min = std::max(Nanos{1}, Nanos{std::llround(shortest)}),
          .step_max = setup.step_max,
          .delay_min = setup.delay_min,
          .delay_max = setup.delay_max};
}

Link link_of(const Setup& setup) {
  return {.delay = Delay::uniform(setup.delay_min, setup.delay_max),
          .loss = setup.loss,
          .reorder = setup.late,
          .lateness = Delay::uniform(0s, 4 * setup.delay_max)};
}

Nanos extreme(Stream& stream, Nanos least, Nanos most) {
  const std::uint64_t which = stream.below(3);
  return which == 0 ? least : which == 1 ? most : stream.uniform(least, most);
}

Ppb rate_of(Nanos shown, Nanos step) {
  const double rate = static_cast<double>(shown.count()) / static_cast<double>(step.count());
  return {std::llround((rate - 1) * 1e9)};
}

}  // namespace tempo::sim::lock
