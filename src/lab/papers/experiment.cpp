#include "lab/papers/experiment.h"

#include <algorithm>
#include <array>

#include "lab/papers/archimedean_paper.h"
#include "lab/papers/capacity_paper.h"
#include "lab/papers/ring_paper.h"
#include "lab/papers/tempo_paper.h"

namespace tempo::papers {
namespace {

constexpr std::array<std::string_view, 3> kEfforts{"glance", "quick", "full"};
constexpr std::uint64_t kFewestRuns = 8;
constexpr std::uint64_t kGlance = 50;  // divisor of the number of runs
constexpr std::uint64_t kFull = 20;    // factor on the number of runs

}  // namespace

std::string_view name_of(Effort effort) { return kEfforts[static_cast<std::size_t>(effort)]; }

std::uint64_t Workshop::runs(std::uint64_t quick) const {
  switch (effort()) {
    case Effort::glance:
      return std::max(quick / kGlance, std::min(quick, kFewestRuns));
    case Effort::quick:
      return quick;
    case Effort::full:
      return quick * kFull;
  }
  return quick;
}

const std::vector<Experiment>& experiments() {
  static const std::vector<Experiment> all = [] {
    std::vector<Experiment> list;
    for (const std::vector<Experiment>& more : {tempo_experiments(), ring_experiments(),
                                                archimedean_experiments(), capacity_experiments()})
      list.insert(list.end(), more.begin(), more.end());
    return list;
  }();
  return all;
}

}  // namespace tempo::papers
