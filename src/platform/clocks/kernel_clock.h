// Interface to the kernel clock, so that tests can use a simulated kernel. Unit tests never change
// the clock of the machine they run on.
#pragma once

#include <memory>

#include <sys/timex.h>

#include "platform/clocks/stamps.h"

namespace tempo::sys {

class KernelClock {
 public:
  virtual ~KernelClock() = default;
  virtual Bracket read() = 0;  // clock time between two raw readings
  virtual int adjust(
      timex& adjustment) = 0;  // clock_adjtime of CLOCK_REALTIME; returns 0 or an errno
};

std::unique_ptr<KernelClock> real_kernel_clock();

}  // namespace tempo::sys
