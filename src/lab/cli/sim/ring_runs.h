// Many ring elections on several threads, and their counts in sum.
//
// Run k has seed + k, block k of the Monte Carlo is block k: the sum depends neither on the threads
// nor on how the runs are shared out among shards. Ctrl-C ends it early; what was done is counted.
#pragma once

#include <cstdint>
#include <string>

#include "lab/cli/shard.h"
#include "lab/cli/sim/ring_counts.h"
#include "lab/studies/ring/anonymous.h"
#include "lab/studies/ring/equitable.h"

namespace tempo::cli {

// What is asked for, as the simulator wants it.
sim::ring::EquitableSetup equitable_setup(const RingAsked& asked);
sim::ring::AnonymousSetup anonymous_setup(const RingAsked& asked, bool first_is_fast);

struct RingRuns {
  RingCounts counts;
  std::uint64_t broken_seed = 0;  // the lowest that broke a promise, if one did
  std::string broken;             // which promise
  bool interrupted = false;
};

RingRuns run_rings(const RingAsked& asked, bool first_is_fast, const Shard& shard,
                   std::uint32_t threads);

}  // namespace tempo::cli
