// Polajnar & Unkasevic 1994: the equitable ring.
#pragma once

#include <vector>

#include "lab/papers/experiment.h"

namespace tempo::papers {

const std::vector<Experiment>& ring_experiments();

// What is printed and wrong, in a file of its own.
Findings ring_errata(Workshop& workshop);

}  // namespace tempo::papers
