// A network in two parts, as World::set_cuts takes it.
#pragma once

#include <cstddef>
#include <vector>

namespace tempo::sim {

// Nothing goes between those for whom `side` says true and the others.
inline std::vector<bool> cuts_between(const std::vector<bool>& side) {
  std::vector<bool> partition(side.size() * side.size());
  for (std::size_t from = 0; from < side.size(); ++from)
    for (std::size_t to = 0; to < side.size(); ++to)
      partition[from * side.size() + to] = side[from] != side[to];
  return partition;
}

}  // namespace tempo::sim
