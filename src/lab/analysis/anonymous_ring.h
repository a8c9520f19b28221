// The anonymous Archimedean ring: the number of candidates of a phase, and the probability that it
// elects several leaders.
//
// In a phase every processor draws from 1..n; those that draw 1 are candidates. Candidates that run
// in step detect each other unless they treat their claims alike at every boundary between two of
// the k stages: at each boundary all pass their claim on, or none does.
//
// Source: Spirakis & Tampakas 1989, section 4.3 and appendix A, as corrected in
// doc/internals/rings.md.
#pragma once

#include <cstdint>

#include "lab/analysis/exact.h"

namespace tempo::analysis {

inline constexpr std::uint32_t kMaxStages = 512;
inline constexpr std::uint32_t kMaxCandidates = 64;

// Probability that all of `candidates` in step are elected after `stages` stages; 1 for one
// candidate. Requires 1 <= stages <= kMaxStages and 1 <= candidates <= kMaxCandidates.
Fraction all_elected(std::uint32_t candidates, std::uint32_t stages);

// Probability that exactly c of n processors draw 1.
Fraction candidates_drawn(std::uint32_t n, std::uint32_t c);
// Mean number of phases until exactly one processor draws 1: (1 - 1/n)^-(n-1). Requires n >= 1.
Fraction mean_phases(std::uint32_t n);

}  // namespace tempo::analysis
