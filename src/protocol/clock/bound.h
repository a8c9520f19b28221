// The bound: where theta certainly is, given that no delay is negative.
//
// Every reading of the newest slots, as it came, limits theta from one side at its own time; how
// fast the limit weakens with age is the drift allowance: what the line may be wrong by per second.
// With no exchange the interval grows by the allowance, and that is the bound in holdover.
#pragma once

#include <vector>

#include "protocol/clock/estimation/candidate_fits.h"
#include "protocol/clock/estimation/combination.h"
#include "protocol/clock/estimation/outlier_filter.h"
#include "protocol/clock/estimation/slots.h"
#include "protocol/clock/interval.h"

namespace tempo::clock {

// How many seconds a window covers, as far as it is full; at least one.
double span_of(const Slots& slots, std::size_t window);

// Seconds per second. `least` is what a clock is granted even when all is quiet.
double drift_allowance(const Slots& slots, const CandidateFits& fits,
                       const Combination& combination, double least);

// Theta at time t lies in here. Going back in time stops at the first slot that contradicts newer
// ones. Samples held back widen it: they may be true.
Interval certain(const Slots& slots, const Line& theta, double drift,
                 const std::vector<OutlierFilter::Held>& held, double t);

}  // namespace tempo::clock
