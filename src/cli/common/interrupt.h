// Ctrl-C as a flag that long work checks, and the steady clock for progress bars.
#pragma once

#include "base/units.h"

namespace tempo::cli {

// While one lives, SIGINT and SIGTERM set the flag instead of ending the process; a second one ends
// it.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

bool interrupted();

Instant steady_now();

}  // namespace tempo::cli
