// One round of time synchronization as a trace to be drawn: the first round of a new network, from
// the last measurements until all corrections.
#pragma once

#include <memory>

#include "base/units.h"
#include "lab/studies/sync/clock_tracer.h"
#include "lab/studies/sync/experiment.h"

namespace tempo::sim::sync {

struct Round {
  std::unique_ptr<const ClockTracer> drawn{};
  Instant from{};  // start of the picture
  Instant to{};
  Nanos before{0};  // largest offset of a clock from the master's at `from`
  Nanos after{0};   // the same a second later
};

// For an experiment without events. Delays must be well below a tenth of a second.
Round first_round(const Experiment& experiment);

}  // namespace tempo::sim::sync
