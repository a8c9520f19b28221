// The anonymous Archimedean ring: how a phase begins, and how often it ends with several leaders.
//
// In a phase every processor draws from 1..n, and those that draw 1 are candidates. Candidates that
// go in step notice each other unless they make the same moves with their claims at every boundary
// between two of the k stages: at each, all pass their claim on, or none does.
//
// Source: Spirakis & Tampakas 1990, section 4.3 and appendix A, as corrected in
// doc/internals/rings.md.
#pragma once

#include <cstdint>

#include "lab/analysis/exact.h"

namespace tempo::analysis {

inline constexpr std::uint32_t kMaxStages = 512;
inline constexpr std::uint32_t kMaxCandidates = 64;

// The probability that `candidates` in step are all elected after `stages` stages. With one
// candidate it is 1. 1 <= stages <= kMaxStages, 1 <= candidates <= kMaxCandidates.
Fraction all_elected(std::uint32_t candidates, std::uint32_t stages);

// The probability that exactly c of n draw 1.
Fraction candidates_drawn(std::uint32_t n, std::uint32_t c);
// Phases until exactly one does, on average: (1 - 1/n)^-(n-1). n >= 1.
Fraction mean_phases(std::uint32_t n);

}  // namespace tempo::analysis
