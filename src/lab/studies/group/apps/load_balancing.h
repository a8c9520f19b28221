// Load balancing: every job goes to the processor with the lowest load at that time.
//
// Criterion: the load. A job counts from the moment it is given to a processor. Naive: it counts
// only while it runs; all jobs of a burst go to the processor that was idle.
#pragma once

#include "lab/studies/group/apps/errands.h"
#include "machine/field_list.h"

namespace tempo::apps {

class Processor {
 public:
  static constexpr Slip kSlip = Slip::in_trade;
  // A job waits for the time of ten broadcasts before it runs, and runs in proportion to its size.
  static constexpr int kWaits = 10;
  static constexpr int kRunsPerSize = 20;

  Processor(NodeId /*self*/, const Rules& rules) : rules_(&rules) {}

  Capacity capacity(WallTime now) { return kHeaviest - load(now); }
  void offer(Capacity /*worth*/) {}
  void took(WallTime now, std::uint32_t size) {
    if (jobs_.size() == kMaxJobs) jobs_.erase(jobs_.begin());
    const WallTime runs = now + kWaits * rules_->bound;
    jobs_.push_back(
        {.size = size, .runs = runs, .ends = runs + size * kRunsPerSize * rules_->bound});
  }
  static std::uint32_t steps(std::uint32_t /*size*/) { return 1; }

  static constexpr auto fields(auto list) {
    return list(field<&Processor::jobs_>("jobs"), fixed<&Processor::rules_>());
  }
  friend FieldCheck;

 private:
  static constexpr Capacity kHeaviest = 1'000'000'000;
  static constexpr std::size_t kMaxJobs = 1024;

  struct Job {
    std::uint32_t size = 1;
    WallTime runs{};
    WallTime ends{};

    static constexpr auto fields(auto list) {
      return list(field<&Job::size>("size"), field<&Job::runs>("runs"), field<&Job::ends>("ends"));
    }
  };

  Capacity load(WallTime now) {
    std::erase_if(jobs_, [&](const Job& job) { return job.ends <= now; });
    Capacity load = 0;
    for (const Job& job : jobs_)
      if (!rules_->naive || job.runs <= now) load += job.size;
    return load;
  }

  const Rules* rules_;
  std::vector<Job> jobs_;  // jobs given to us that had not ended at the last look
};

using LoadBalancing = Errands<Processor>;
static_assert(CheckableMachine<App<LoadBalancing>>);

}  // namespace tempo::apps
