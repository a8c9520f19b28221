// The exact mean number of rounds of algorithm C, computed with the machine that runs.
//
// The paper's formula (1) is a Markov chain in which a candidate that knows of a rival competes
// again. By the paper's Table 4 a candidate that hears nothing of a rival becomes master instead
// (transition 11), so the machine takes fewer rounds. This computation follows the machine, as
// printed, through every combination of lost and delivered copies and adds up their exact
// probabilities. It is neither a simulation nor the chain.
//
// All candidates begin together, every copy of a message takes the same time, and there are no
// other processes. A round is the collection of bids or one announcement, as in `Outcome::rounds`
// (lab/studies/group/capacity_run.h).
//
// Source: King, Gendreau & Ni 1988, section 6, Table 4 and appendix.
#pragma once

#include <cstdint>

#include "lab/analysis/exact.h"

namespace tempo::papers {

// The number of combinations grows too fast for more candidates.
inline constexpr std::uint32_t kMaxMachineCandidates = 3;

// Requires 1 <= candidates <= kMaxMachineCandidates and 0 <= loss < 1.
analysis::Fraction machine_rounds(std::uint32_t candidates, const analysis::Fraction& loss);

}  // namespace tempo::papers
