// King, Gendreau & Ni 1988: elections by capacity.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lab/papers/experiment.h"

namespace tempo::papers {

const std::vector<Experiment>& capacity_experiments();

// Defined in a separate file: the errata, found by the checker.
Findings capacity_errata(Workshop& workshop);
Findings capacity_checked(Workshop& workshop);

inline Statement cited_capacity(std::string section, std::string says) {
  return {Paper::capacity, std::move(section), std::move(says)};
}

}  // namespace tempo::papers
