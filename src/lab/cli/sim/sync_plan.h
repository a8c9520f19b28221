// What the words of `tempo sim sync` mean: everything is understood before anything runs.
#pragma once

#include <string>

#include "base/result.h"
#include "lab/cli/sim/sim_sync.h"
#include "lab/studies/sync/experiment.h"

namespace tempo::cli {

// The experiment, or a sentence that says what cannot be.
Result<sim::sync::Experiment> parse_plan(const SimSyncArguments& arguments);

// A frequency as people write it: 50ppm, 3ppb, or a plain number such as 2e-6.
Result<double> parse_frequency(const std::string& text);

}  // namespace tempo::cli
