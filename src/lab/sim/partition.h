// A network split into two parts, in the form that World::set_partition takes.
#pragma once

#include <cstddef>
#include <vector>

namespace tempo::sim {

// Blocks every message between the nodes with side[node] true and the others.
inline std::vector<bool> partition_between(const std::vector<bool>& side) {
  std::vector<bool> partition(side.size() * side.size());
  for (std::size_t from = 0; from < side.size(); ++from)
    for (std::size_t to = 0; to < side.size(); ++to)
      partition[from * side.size() + to] = side[from] != side[to];
  return partition;
}

}  // namespace tempo::sim
