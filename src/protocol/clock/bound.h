// The bound: the interval that certainly contains theta (the offset), because no delay is negative.
//
// Every raw reading of the newest slots limits theta from one side at its own time. The limit
// weakens with age by the drift allowance: the largest error of the line's rate (skew). Without
// exchanges the interval grows by the allowance; this is the bound in holdover.
#pragma once

#include <cstdint>
#include <vector>

#include "protocol/clock/estimation/candidate_fits.h"
#include "protocol/clock/estimation/combination.h"
#include "protocol/clock/estimation/outlier_filter.h"
#include "protocol/clock/estimation/slots.h"
#include "protocol/clock/interval.h"

namespace tempo::clock {

// Time that the filled part of a window covers, in seconds; at least 1.
double span_of(const Slots& slots, std::size_t window);

// Drift allowance, in seconds per second. `least` is the allowance of a quiet clock.
double drift_allowance(const Slots& slots, const CandidateFits& fits,
                       const Combination& combination, double least);

// The interval that contains theta at time t. It uses the slots from the newest to the first that
// contradicts newer ones, and of those up to number `jumped_in`, after which the clock seemed to
// jump, at most the newest: a change of the path may look like a jump. Held samples widen it,
// because they may be correct.
Interval bound_at(const Slots& slots, const Line& theta, double drift,
                  const std::vector<OutlierFilter::Held>& held, double t,
                  std::int64_t jumped_in = -1);

}  // namespace tempo::clock
