// What all locks of known time are simulated on: sites whose steps differ as much as the bounds
// allow, and messages that take as long as they allow.
#pragma once

#include "lab/sim/world.h"
#include "lab/studies/lock/mutex_run.h"

namespace tempo::sim::lock {

tempo::lock::Bounds bounds_of(const Setup& setup);
Link link_of(const Setup& setup);
// Between the bounds; a third of the sites or messages at each of them, because these matter.
Nanos extreme(Stream& stream, Nanos least, Nanos most);
// A clock that shows `shown` for each step, these being so long.
Ppb rate_of(Nanos shown, Nanos step);

inline Nanos longest(tempo::lock::Steps steps, const tempo::lock::Bounds& bounds) {
  return static_cast<std::int64_t>(steps) * bounds.step_max;
}

// Before any site starts.
template <class World>
void set_the_stage(World& world, const Setup& setup, Nanos shown) {
  const tempo::lock::Bounds bounds = bounds_of(setup);
  Stream stream(setup.seed, std::to_underlying(Cause::plan), 0);
  for (std::uint32_t i = 0; i < setup.sites; ++i)
    world.set_rate(NodeId{i}, rate_of(shown, extreme(stream, bounds.step_min, bounds.step_max)));
  world.set_route([bounds](NodeId, NodeId, Stream& delays) {
    return extreme(delays, bounds.delay_min, bounds.delay_max);
  });
}

}  // namespace tempo::sim::lock
