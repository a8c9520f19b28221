// The Markov chain of Algorithm C: rounds until one of several candidates remains, when a broadcast
// is lost with probability p. It assumes that every duplicate is detected.
//
// Source: King, Gendreau & Ni 1988, section 6.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/analysis/exact.h"

namespace tempo::analysis {

class AlgorithmC {
 public:
  static constexpr std::uint32_t kMaxCandidates = 64;

  // Up to `candidates` candidates; 0 <= loss < 1.
  AlgorithmC(std::uint32_t candidates, const Fraction& loss);

  // P(i,j): probability that j of i candidates remain after a round.
  const Fraction& step(std::uint32_t i, std::uint32_t j) const { return steps_[i][j]; }
  // E[N | a]: mean number of rounds with a candidates; 1 for one candidate, by definition.
  Fraction mean_rounds(std::uint32_t a) const;

 private:
  std::vector<std::vector<Fraction>> steps_;
};

}  // namespace tempo::analysis
