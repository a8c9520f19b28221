// Many ring elections on several threads, and the sum of their counts.
//
// Run k uses seed + k, and block k of the Monte Carlo is the same everywhere: the sum depends
// neither on the threads nor on the distribution among shards. Ctrl-C ends it early; the finished
// runs are counted.
#pragma once

#include <cstdint>
#include <string>

#include "lab/cli/shard.h"
#include "lab/cli/sim/ring_counts.h"
#include "lab/studies/group/ring/anonymous.h"
#include "lab/studies/group/ring/equitable.h"

namespace tempo::cli {

// The options as a setup of the simulator.
sim::ring::EquitableSetup equitable_setup(const RingPlan& plan);
sim::ring::AnonymousSetup anonymous_setup(const RingPlan& plan, bool first_is_fast);

struct RingRuns {
  RingCounts counts;
  std::uint64_t broken_seed = 0;  // lowest seed that violated a property; only if `broken` is set
  std::string broken;             // the violation; empty: none
  bool interrupted = false;
};

RingRuns run_rings(const RingPlan& plan, bool first_is_fast, const Shard& shard,
                   std::uint32_t threads);

}  // namespace tempo::cli
