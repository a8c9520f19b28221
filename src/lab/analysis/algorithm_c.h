// The chain of Algorithm C: rounds until one of several candidates is left, when a broadcast is
// lost with probability p. It takes for granted that every duplicate is noticed.
//
// Source: King, Gendreau & Ni 1989, section 6.
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

  // P(i,j): of i candidates j stay after a round.
  const Fraction& step(std::uint32_t i, std::uint32_t j) const { return steps_[i][j]; }
  // E[N | a]: rounds with a candidates; 1 for one, by definition.
  Fraction mean_rounds(std::uint32_t a) const;

 private:
  std::vector<std::vector<Fraction>> steps_;
};

}  // namespace tempo::analysis
