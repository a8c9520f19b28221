#include "lab/cli/sim/sim_lock_lease.h"

#include <algorithm>

#include "base/check.h"
#include "lab/studies/lock/lease_run.h"

namespace tempo::cli {

sim::lock::Outcome run_lease(const sim::lock::Setup& setup) {
  const sim::lease::Setup lease{.sites = setup.sites,
                                .voters = std::min(setup.sites, lock::lease::kMaxVoters),
                                .contending = setup.contending,
                                .clients = 1,
                                .readers = static_cast<double>(setup.readers) / setup.contending,
                                .entries = setup.entries,
                                .stay = setup.step_max * (setup.longest_hold / 2),
                                .think = setup.delay_min,
                                .delay = setup.delay_max,
                                .faults = {.loss = setup.loss,
                                           .late = setup.late,
                                           .crashes_per_s = setup.crashes,
                                           .pauses_per_s = setup.pauses,
                                           .partitions_per_s = setup.partitions},
                                .seed = setup.seed};
  const sim::lease::Outcome played = sim::lease::run(lease);
  CHECK(played.broken == nullptr);
  sim::lock::Outcome outcome{
      .tally = played.tally, .crashes = played.crashes, .events = played.events};
  outcome.tally.violations += played.revivals;
  outcome.tally.deadlocks += played.blocked;
  return outcome;
}

}  // namespace tempo::cli
