// Path change detector: finds a longer path, such as a new route or a standing queue.
//
// The outlier filter detects every jump of the local clock, so a lasting rise of the round trip is
// a change of the path, and theta is kept. A rise appears as a run of slots whose round trips
// exceed their quantiles. A long run is examined once. If all its delays rose, the rise is
// subtracted from the readings of the direction that rose; if they only spread, the cause is load,
// which the envelope handles.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "protocol/clock/estimation/delay_stats.h"
#include "protocol/clock/estimation/line.h"
#include "protocol/clock/estimation/sample.h"
#include "protocol/clock/estimation/slots.h"
#include "protocol/clock/estimation/windows.h"

namespace tempo::clock {

struct LongerPath {
  std::array<double, 2> by{};          // rise of the delay in each direction, in seconds; 0: none
  std::array<std::size_t, 2> slots{};  // number of the newest slots with that rise
};

class PathChangeDetector {
 public:
  // Examines the newest slot when it is closed. `best` is the kind of the best line.
  std::optional<LongerPath> close(const Slots& slots, const DelayStats& delay_stats,
                                  const Line& theta, Kind best);
  // True during a run: the delay statistics must not be measured again meanwhile.
  bool running() const;

 private:
  // Consecutive slots whose round trip is above each quantile.
  struct Run {
    std::size_t above_high = 0;
    std::size_t above_median = 0;
    std::size_t above_low = 0;
  };

  Run run_;
};

}  // namespace tempo::clock
