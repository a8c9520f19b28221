// Lease locks by the words of `tempo sim lock`.
#pragma once

#include "lab/studies/lock/mutex_run.h"

namespace tempo::cli {

// Holds and delays are those of the other kinds. Crashes, pauses and partitions are so many for
// each second of simulated time, not for each entry: while they last nobody enters.
sim::lock::Outcome run_lease(const sim::lock::Setup& setup);

}  // namespace tempo::cli
