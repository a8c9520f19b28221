// A path that has become longer: a new route, a queue that stands.
//
// The local clock cannot jump without the guard seeing it, so a lasting rise of the round trip is
// the path, and theta is kept. A rise shows as a run of slots whose round trip is above what is
// usual; a long run is looked at once, and either it moved as a whole (then the rise is taken off
// the readings of the way that rose) or it only spread (then it is load, and the envelope copes).
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
  std::array<double, 2> by{};          // how much longer each way is; 0 if it is not
  std::array<std::size_t, 2> slots{};  // how many of the newest slots it holds for
};

class PathChangeDetector {
 public:
  // Looks at the newest slot, to which nothing more comes. `best` is the kind of line that is best.
  std::optional<LongerPath> close(const Slots& slots, const DelayStats& delay_stats,
                                  const Line& theta, Kind best);
  // While a run is under way what is usual must not be measured anew.
  bool running() const;

 private:
  struct Run {
    std::size_t above_high = 0;
    std::size_t above_median = 0;
    std::size_t above_low = 0;
  };

  Run run_;
};

}  // namespace tempo::clock
