// Allan deviation: the usual measure of a clock's frequency stability.
#pragma once

#include <vector>

namespace tempo::sim {

// Overlapping Allan deviation at `tau` seconds. `phase` is in seconds, sampled every `step`
// seconds. Returns 0 if `phase` is too short for this `tau`.
double allan_deviation(const std::vector<double>& phase, double step, double tau);

}  // namespace tempo::sim
