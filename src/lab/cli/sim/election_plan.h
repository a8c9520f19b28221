// The options of `tempo-lab sim election`, checked before anything runs.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "lab/cli/sim/commands.h"
#include "lab/studies/election/scenario.h"

namespace tempo::cli {

struct ElectionPlan {
  sim::election::Scenario scenario{};
  sim::election::Setup setup;
  Nanos until{0};  // simulated time; 0: the limit of the scenario
};

// Returns the plan, or an error message.
Result<ElectionPlan> parse_plan(const SimElectionArguments& arguments);

// Number of nodes that remain for the election after the faults of the scenario.
std::uint32_t survivors(const ElectionPlan& plan);

// The command that repeats one run exactly.
std::string replay_line(const SimElectionArguments& arguments, std::uint64_t seed);

}  // namespace tempo::cli
