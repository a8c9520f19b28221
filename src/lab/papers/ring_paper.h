// Polajnar & Unkasevic 1994: the equitable ring.
#pragma once

#include <vector>

#include "lab/papers/experiment.h"

namespace tempo::papers {

const std::vector<Experiment>& ring_experiments();

// Defined in a separate file: the errata.
Findings ring_errata(Workshop& workshop);

}  // namespace tempo::papers
