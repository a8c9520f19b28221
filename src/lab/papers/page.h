// The report page: all findings in one self-contained HTML file.
#pragma once

#include <string>
#include <vector>

#include "lab/papers/experiment.h"

namespace tempo::papers {

struct Chapter {
  const Experiment* experiment = nullptr;
  Findings findings{};
};

struct PageOptions {
  Effort effort = Effort::quick;
  std::uint64_t seed = 1;
  std::string version{};
};

std::string page(const std::vector<Chapter>& chapters, const PageOptions& options);

}  // namespace tempo::papers
