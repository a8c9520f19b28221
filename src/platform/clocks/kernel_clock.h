// The few calls by which a kernel's clock is read and steered, so that a test can bring its own
// kernel: nothing that is tested here ever touches the clock of the machine it runs on.
#pragma once

#include <memory>

#include <sys/timex.h>

#include "platform/clocks/stamps.h"

namespace tempo::sys {

class KernelClock {
 public:
  virtual ~KernelClock() = default;
  virtual Bracket read() = 0;                 // its time beside the raw one
  virtual int adjust(timex& adjustment) = 0;  // clock_adjtime of CLOCK_REALTIME: 0, or an errno
};

std::unique_ptr<KernelClock> real_kernel_clock();

}  // namespace tempo::sys
