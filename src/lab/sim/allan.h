// How steady a clock is: its Allan deviation.
#pragma once

#include <vector>

namespace tempo::sim {

// Overlapping Allan deviation of a phase in seconds, sampled every `step` seconds, at `tau`; 0 if
// the row is too short for it.
double allan_deviation(const std::vector<double>& phase, double step, double tau);

}  // namespace tempo::sim
