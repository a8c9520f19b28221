// One round of keeping time as a trace, to be drawn: the first of a network that has just started,
// from the last time everybody measures until everybody has been corrected.
#pragma once

#include <memory>

#include "base/units.h"
#include "lab/studies/sync/clock_tracer.h"
#include "lab/studies/sync/experiment.h"

namespace tempo::sim::sync {

struct Round {
  std::unique_ptr<const ClockTracer> drawn{};
  Instant from{};  // the picture
  Instant to{};
  Nanos before{0};  // how far from the master's the worst clock was at `from`
  Nanos after{0};   // and a second later
};

// Of an experiment without accidents. The delays must be well below a tenth of a second.
Round first_round(const Experiment& experiment);

}  // namespace tempo::sim::sync
