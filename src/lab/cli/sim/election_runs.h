// One election plan run with many seeds on several threads, and the sum of the results.
//
// The sum does not depend on the number of threads: results are stored by seed and added in the
// order of the seeds. Ctrl-C ends it early; the finished runs are counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lab/cli/sim/election_plan.h"

namespace tempo::cli {

struct Tally {
  struct Attempts {
    std::uint64_t made = 0, collided = 0;
  };

  std::uint64_t runs = 0, one_master = 0, no_master = 0, several_masters = 0, ever_two_masters = 0,
                collisions = 0, violations = 0, events = 0, messages = 0, most_messages = 0,
                broken_seed = 0;  // first seed that violated a property; only if violations > 0
  Nanos longest_repair{0};
  std::uint64_t hash = 0;
  std::vector<double> times;       // to a master, in seconds, sorted
  std::vector<Attempts> attempts;  // candidacies: first ones, second ones, ...
  std::uint32_t threads = 0;
  double elapsed_s = 0;
};

// Divides instead of multiplying by a rounded 1e-9: 300 ms print as 0.3.
inline double printed_seconds(Nanos span) { return static_cast<double>(span.count()) / 1e9; }

// Runs arguments.runs elections, from arguments.seed on. plan_of() must accept the plan.
Tally many_runs(const SimElectionArguments& arguments, const ElectionPlan& plan);

}  // namespace tempo::cli
