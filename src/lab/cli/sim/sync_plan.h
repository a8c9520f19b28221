// The options of `tempo-lab sim sync`, checked before anything runs.
#pragma once

#include <string>

#include "base/result.h"
#include "lab/cli/sim/commands.h"
#include "lab/studies/sync/experiment.h"

namespace tempo::cli {

// The experiment, or an error message.
Result<sim::sync::Experiment> parse_plan(const SimSyncArguments& arguments);

}  // namespace tempo::cli
