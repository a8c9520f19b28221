// The clock that is steered, as an object: the kernel's, or none.
//
// The node steers a clock of its own, a line from raw time to network time. A Clock makes the
// machine's clock show the same: `follow` is called after every change and once a second. What the
// kernel rounds away is made up at the next call.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "live/sys/oscillator.h"

namespace tempo::sys {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual const char* name() const = 0;  // system, software, none

  // What it shows now, for the node's start.
  virtual WallTime read() = 0;

  // Shows `wall` at `now` and runs `rate` faster than the raw timescale from then on (1e-6: a
  // microsecond a second). A difference above the step limit, or when `step` allows it, is stepped,
  // a smaller one is slewed.
  virtual Result<void> follow(Instant now, WallTime wall, double rate, bool step) = 0;
};

std::unique_ptr<Clock> no_clock(Nanos offset);  // measures only: reads the kernel's plus `offset`
Result<std::unique_ptr<Clock>> system_clock();  // clock_adjtime; fails without CAP_SYS_TIME

}  // namespace tempo::sys
