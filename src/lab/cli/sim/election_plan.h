// What the arguments of `tempo sim election` ask for, checked as a whole before anything runs.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "lab/cli/sim/sim_election.h"
#include "lab/studies/election/scenario.h"

namespace tempo::cli {

struct ElectionPlan {
  sim::election::Scenario scenario{};
  sim::election::Setup setup;
  Nanos until{0};  // 0: as long as it may take
};

// The order, or a sentence that says what cannot be.
Result<ElectionPlan> parse_plan(const SimElectionArguments& arguments);

// How many nodes are left to elect when the scenario has done its worst.
std::uint32_t survivors(const ElectionPlan& plan);

// The line that repeats one run exactly.
std::string replay_line(const SimElectionArguments& arguments, std::uint64_t seed);

}  // namespace tempo::cli
