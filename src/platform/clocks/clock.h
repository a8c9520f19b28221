// The clock of the machine, steered or only read.
//
// The node steers a software clock, a line from raw time to network time. A Clock makes the clock
// of the machine show the same; `follow` is called after every change and once a second. The next
// call compensates for rounding in the kernel.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "platform/clocks/oscillator.h"

namespace tempo::sys {

class KernelClock;  // kernel_clock.h

// What the kernel tells other programs about its clock: network time and its interval at `at`.
struct KernelClaim {
  Instant at{};
  WallTime time{};  // best reading
  WallTime earliest{};
  WallTime latest{};
  double rate = 0;         // of network time over raw time
  std::optional<int> tai{};  // TAI minus UTC in seconds; empty: left as it is
};

class Clock {
 public:
  virtual ~Clock() = default;
  virtual const char* name() const = 0;  // system, software, none

  // Current time, for the start of the node.
  virtual WallTime read() = 0;

  // Makes the clock show `wall` at `now` and run faster than raw time by `rate` (1e-6: one
  // microsecond per second). A difference above the step limit is stepped, and any difference worth
  // it if `step` is set; a smaller one is slewed.
  virtual Result<void> follow(Instant now, WallTime wall, double rate, bool step) = 0;

  // States the maximum and the estimated error of the clock to the kernel; empty: the clock is
  // unsynchronized. Call it at least every second, because the kernel adds 500 ppm to the error,
  // and after `follow`, because a step ends the claim. The claim ends with this object.
  virtual Result<void> claim(const std::optional<KernelClaim>& claim) = 0;
};

std::unique_ptr<Clock> no_clock(Nanos offset);  // read-only: system clock plus `offset`
Result<std::unique_ptr<Clock>> system_clock();  // clock_adjtime; fails without CAP_SYS_TIME

struct SteeringOptions {
  Nanos step_limit = 128ms;  // a larger difference is always stepped
  double max_slew = 400e-6;  // largest change of the rate for correcting a difference
};

// A clock behind an interface: the kernel clock for `system_clock`, a simulated one in tests. Slews
// only change the frequency, so the clock goes backwards only in a step. On destruction the clock
// keeps the last rate.
Result<std::unique_ptr<Clock>> steer(std::unique_ptr<KernelClock> kernel,
                                     const SteeringOptions& options);

}  // namespace tempo::sys
