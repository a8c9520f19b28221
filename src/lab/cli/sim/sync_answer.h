// Results of `tempo-lab sim sync` as JSON, as rows of a table and as curves.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "lab/cli/sim/commands.h"
#include "lab/report/plot.h"
#include "lab/studies/sync/experiment.h"

namespace tempo::cli {

using Rows = std::vector<std::pair<std::string, std::string>>;

// Means over the seeds, and the worst seed.
Json sync_json(const SimSyncArguments& arguments, const sim::sync::Experiment& experiment,
               const std::vector<sim::sync::Outcome>& outcomes);
Rows sync_rows(const sim::sync::Experiment& experiment,
               const std::vector<sim::sync::Outcome>& outcomes);

// Offset of each client from the master, by second, of the first seed.
std::vector<report::Curve> sync_curves(const sim::sync::Experiment& experiment,
                                       const sim::sync::Outcome& outcome);

}  // namespace tempo::cli
