// The options of `tempo-lab sim sync`, checked before anything runs.
#pragma once

#include <string>

#include "base/result.h"
#include "lab/cli/sim/commands.h"
#include "lab/studies/sync/experiment.h"

namespace tempo::cli {

// The experiment, or an error message.
Result<sim::sync::Experiment> parse_plan(const SimSyncArguments& arguments);

// A relative frequency: 50ppm, 3ppb, or a plain number such as 2e-6.
Result<double> parse_frequency(const std::string& text);

}  // namespace tempo::cli
