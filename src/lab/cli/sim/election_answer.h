// Results of `tempo-lab sim election`, of one run or of many, as a table or as JSON. Nothing is
// printed here.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "lab/cli/sim/election_plan.h"
#include "lab/cli/sim/election_runs.h"
#include "lab/studies/election/baselines.h"
#include "lab/studies/election/scenario.h"

namespace tempo::cli {

// Of one run. `baselines` is empty without --baselines.
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
