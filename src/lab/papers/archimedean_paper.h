// Spirakis & Tampakas 1989: locks and an anonymous ring under Archimedean time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lab/papers/experiment.h"

namespace tempo::papers {

const std::vector<Experiment>& archimedean_experiments();

// Defined in separate files: the locks, the ring, and their errata.
const std::vector<Experiment>& archimedean_lock_experiments();
const std::vector<Experiment>& archimedean_ring_experiments();
Findings archimedean_lock_errata(Workshop& workshop);
Findings archimedean_ring_errata(Workshop& workshop);

// Errata measured by one experiment and drawn from the smallest world that shows them; the diagram
// is added to the findings.
Claim erratum_of_lemma_1(Workshop& workshop, double printed, const Estimate& refusals,
                         Findings& findings);
Claim erratum_of_lemma_2(Workshop& workshop, std::uint32_t sites, const Estimate& refusals,
                         const Estimate& messages, Findings& findings);
Claim erratum_of_lemma_6(Workshop& workshop, Findings& findings);
Claim erratum_of_theorem_1(Workshop& workshop, double printed_ms, double longest_ms,
                           Findings& findings);

inline Statement cited_archimedean(std::string section, std::string says) {
  return {Paper::archimedean, std::move(section), std::move(says)};
}

}  // namespace tempo::papers
