#include "lab/papers/archimedean_paper.h"

namespace tempo::papers {

const std::vector<Experiment>& archimedean_experiments() {
  static const std::vector<Experiment> all = [] {
    std::vector<Experiment> list = archimedean_lock_experiments();
    const std::vector<Experiment>& ring = archimedean_ring_experiments();
    list.insert(list.end(), ring.begin(), ring.end());
    return list;
  }();
  return all;
}

}  // namespace tempo::papers
