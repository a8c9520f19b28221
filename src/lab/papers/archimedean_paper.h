// Spirakis & Tampakas 1989: locks and an anonymous ring under Archimedean time.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lab/papers/experiment.h"

namespace tempo::papers {

const std::vector<Experiment>& archimedean_experiments();

// In files of their own: the locks, what is printed wrong of them, and the ring.
const std::vector<Experiment>& archimedean_lock_experiments();
const std::vector<Experiment>& archimedean_ring_experiments();
Findings archimedean_lock_errata(Workshop& workshop);

inline Saying said_of_archimedean(std::string section, std::string says) {
  return {Paper::archimedean, std::move(section), std::move(says)};
}

}  // namespace tempo::papers
