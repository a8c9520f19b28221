// How good each candidate is, without knowing the truth: the boundary test.
//
// For a clock whose rate wanders as a random walk, past and future of an instant are independent
// given the state at that instant, and a line fitted to the future n slots and read at their start
// is as good as one fitted to the past n slots and read at their end. The gap between the two
// therefore measures the error of both. One window per kind, the reference, plays the future; every
// window plays the past. The kinds are never scored against each other: their biases differ under
// asymmetric load.
#pragma once

#include <cstddef>

#include "protocol/clock/estimation/candidate_fits.h"
#include "protocol/clock/estimation/slots.h"
#include "protocol/clock/estimation/windows.h"

namespace tempo::clock {

class Scores {
 public:
  // Called once for each new slot, after the bank has been fitted.
  void judge(const Slots& slots, const CandidateFits& fits);

  bool scored(Kind kind, std::size_t window) const;
  double tests(Kind kind, std::size_t window) const { return tallies_[kind][window].tests; }
  // Mean squared error; only of a window that is scored.
  double error(Kind kind, std::size_t window) const;
  // The same, smoothed over neighbouring windows.
  double smooth_error(Kind kind, std::size_t window) const { return smooth_[kind][window]; }
  std::size_t reference(Kind kind) const { return reference_[index(kind)]; }
  // Mean square of the noise on both sides of the tests.
  double tested_noise(Kind kind) const;

 private:
  struct Tally {
    double gaps = 0;    // sum of squared gaps to the future
    double future = 0;  // of which this is the future's part
    double tests = 0;   // all three fade with the horizon
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
