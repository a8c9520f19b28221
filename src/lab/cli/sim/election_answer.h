// What `tempo sim election` answers: of one run or of many, as a table for people or as JSON for
// programs. Nothing is printed here.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "lab/cli/sim/election_plan.h"
#include "lab/cli/sim/election_runs.h"
#include "lab/studies/election/baselines.h"
#include "lab/studies/election/scenario.h"

namespace tempo::cli {

// Of one run. The baselines are empty unless they were asked for.
std::string outcome_table(const SimElectionArguments& arguments, const ElectionPlan& plan,
                          const sim::election::Outcome& outcome,
                          const std::vector<sim::election::BaselineCost>& baselines);
Json outcome_json(const SimElectionArguments& arguments, const ElectionPlan& plan,
                  const sim::election::Outcome& outcome,
                  const std::vector<sim::election::BaselineCost>& baselines);

// Of many runs.
std::string tally_table(const SimElectionArguments& arguments, const ElectionPlan& plan,
                        const Tally& sum);
Json tally_json(const SimElectionArguments& arguments, const ElectionPlan& plan, const Tally& sum);

}  // namespace tempo::cli
