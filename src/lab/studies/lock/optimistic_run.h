// Optimistic readers and their writer in a simulated network: one run.
#pragma once

#include "lab/studies/lock/mutex_run.h"

namespace tempo::sim::lock {

// Site 0 writes, the other contending sites read; an entry is a successful read.
Outcome run_optimistic(const Setup& setup);

}  // namespace tempo::sim::lock
