// Environment of the simulated bounded-delay locks: step lengths and message delays that use the
// whole range of the bounds.
#pragma once

#include "lab/sim/world.h"
#include "lab/studies/lock/mutex_run.h"

namespace tempo::sim::lock {

tempo::lock::Bounds bounds_of(const Setup& setup);
Link link_of(const Setup& setup);
// Draws between the bounds; a third of the draws hit each bound, because extremes matter most.
Nanos extreme(Stream& stream, Nanos least, Nanos most);
// Rate of a clock that shows `shown` during each step of length `step`.
Ppb rate_of(Nanos shown, Nanos step);

inline Nanos longest(tempo::lock::Steps steps, const tempo::lock::Bounds& bounds) {
  return static_cast<std::int64_t>(steps) * bounds.step_max;
}

// Call before any site starts.
template <class World>
void set_clocks_and_delays(World& world, const Setup& setup, Nanos shown) {
  const tempo::lock::Bounds bounds = bounds_of(setup);
  Stream stream(setup.seed, std::to_underlying(Cause::plan), 0);
  for (std::uint32_t i = 0; i < setup.sites; ++i)
    world.set_rate(NodeId{i}, rate_of(shown, extreme(stream, bounds.step_min, bounds.step_max)));
  world.set_route([bounds](NodeId, NodeId, Stream& delays) {
    return extreme(delays, bounds.delay_min, bounds.delay_max);
  });
}

}  // namespace tempo::sim::lock
