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
#include "platform/clocks/oscillator.h"

namespace tempo::sys {

class KernelClock;  // kernel_clock.h

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

struct SteeringOptions {
  Nanos step_limit = 128ms;   // a larger difference is stepped, asked or not
  double slew_most = 400e-6;  // added to or taken from the rate to make up a difference
};

// A clock behind a table of calls: the kernel's for `system_clock`, a simulated one in tests.
// Slews are frequencies alone, so that the clock never goes backwards but by a step; a clock that
// is let go keeps the rate last followed.
Result<std::unique_ptr<Clock>> steer(std::unique_ptr<KernelClock> kernel,
                                     const SteeringOptions& options);

}  // namespace tempo::sys
