// One line of many candidates: each counts by the inverse square of its mean squared error.
//
// Weights move slowly and smoothly, so nothing has to be switched. Two things are added to the
// scores: before a window has been scored it may count by what a shorter one promises, and when
// round trips spread more than they did while the scores were made, the part of the error that is
// noise is raised at once, which favours longer windows while they still remember the quiet time.
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
  std::size_t window = 0;  // the best candidate's
  double tests = 0;        // how often it was tested
};

// `rate` is what is known of the rate when there is a single slot. There must be a slot.
Combination combine(const Slots& slots, const CandidateFits& fits, const Scores& scores,
                    double rate);

}  // namespace tempo::clock
