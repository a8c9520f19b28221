// A failing election, made small: fewer faults, then fewer nodes, then less time.
#pragma once

#include <functional>

#include "lab/studies/election/scenario.h"

namespace tempo::sim::election {

// `fails` must hold for the experiment; it holds for what is returned.
Experiment shrink(Experiment experiment, const std::function<bool(const Experiment&)>& fails);

// Whether a run breaks this promise.
bool breaks(const Experiment& experiment, const std::string& property);

}  // namespace tempo::sim::election
