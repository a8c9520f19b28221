// Scores: the error of each candidate, measured without the true offset by the boundary test.
//
// For a clock whose frequency wanders as a random walk, past and future of an instant are
// independent given the state at that instant, and a line fitted to the next n slots and read at
// their start is as accurate as one fitted to the last n slots and read at their end. The
// difference of the two therefore measures the error of both. One window per kind, the reference,
// is fitted to the future; every window is fitted to the past. Lines of different kinds are not
// compared, because their biases differ under asymmetric load.
#pragma once

#include <cstddef>

#include "protocol/clock/estimation/candidate_fits.h"
#include "protocol/clock/estimation/slots.h"
#include "protocol/clock/estimation/windows.h"

namespace tempo::clock {

class Scores {
 public:
  // Runs the test once for each new slot, after CandidateFits::fit.
  void judge(const Slots& slots, const CandidateFits& fits);

  // True if the window has enough tests for a score.
  bool scored(Kind kind, std::size_t window) const;
  double tests(Kind kind, std::size_t window) const { return tallies_[kind][window].tests; }
  // Mean squared error, in square seconds; only if scored().
  double error(Kind kind, std::size_t window) const;
  // The same, smoothed over neighbouring windows.
  double smooth_error(Kind kind, std::size_t window) const { return smooth_[kind][window]; }
  std::size_t reference(Kind kind) const { return reference_[index(kind)]; }
  // Mean square of the noise in past and future of the tests.
  double tested_noise(Kind kind) const;

 private:
  struct Tally {
    double gaps = 0;    // sum of squared differences to the future line
    double future = 0;  // the part of `gaps` that is the error of the future line
    double tests = 0;   // number of tests; all three decay exponentially
  };
  struct Noise {
    double squares = 0;
    double tests = 0;
  };

  void choose_reference(Kind kind);
  void smooth(Kind kind);

  PerCandidate<Tally> tallies_;
  PerCandidate<double> smooth_;
  std::array<std::size_t, 2> reference_{};
  std::array<Noise, 2> noise_{};
};

}  // namespace tempo::clock
