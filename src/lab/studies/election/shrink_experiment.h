// Shrinks a failing election: fewer faults, then fewer nodes, then less time.
#pragma once

#include <functional>

#include "lab/studies/election/scenario.h"

namespace tempo::sim::election {

// `fails` must hold for the experiment; it also holds for the result.
Experiment shrink(Experiment experiment, const std::function<bool(const Experiment&)>& fails);

// True if a run violates this property.
bool breaks(const Experiment& experiment, const std::string& property);

}  // namespace tempo::sim::election
