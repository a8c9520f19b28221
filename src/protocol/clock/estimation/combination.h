// Combination: one line from all candidates, weighted by the inverse square of the mean squared
// error.
//
// Weights change slowly, so the estimate never switches between candidates. The scores are adjusted
// twice. A window without a score may get one extrapolated from a shorter window. When round trips
// spread more than during the tests, the noise part of each error is raised at once; this favours
// longer windows while they still contain the quiet time.
#pragma once

#include <cstddef>

#include "protocol/clock/estimation/candidate_fits.h"
#include "protocol/clock/estimation/line.h"
#include "protocol/clock/estimation/scores.h"
#include "protocol/clock/estimation/slots.h"
#include "protocol/clock/estimation/windows.h"

namespace tempo::clock {

struct Combination {
  Line theta{};
  double sigma = 0;  // standard error of theta at the line's origin
  Kind kind = Kind::envelope;
  std::size_t window = 0;  // window of the best candidate
  double tests = 0;        // number of its tests
};

// `rate` is the rate that a single slot uses. There must be a slot.
Combination combine(const Slots& slots, const CandidateFits& fits, const Scores& scores,
                    double rate);

}  // namespace tempo::clock
