// The connected parts of a simulated network, as the properties define them: two running nodes are
// in one part if each reaches the other, directly or through other nodes of the part.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace tempo::sim::election {

template <class World>
bool runs(const World& world, NodeId id) {
  return world.up(id) && !world.machine(id).ended();
}

// part[i] is the smallest node of i's part; for a node that is down, i itself.
template <class World>
std::vector<std::uint32_t> parts_of(const World& world) {
  std::vector<std::uint32_t> part(world.size());
  if (world.whole()) {
    std::uint32_t smallest = world.size();
    for (std::uint32_t i = 0; i < world.size(); ++i) {
      const bool up = runs(world, NodeId{i});
      if (up && smallest == world.size()) smallest = i;
      part[i] = up ? smallest : i;
    }
    return part;
  }
  std::vector<bool> known(world.size(), false);
  for (std::uint32_t first = 0; first < world.size(); ++first) {
    if (known[first]) continue;
    part[first] = first;
    known[first] = true;
    if (!runs(world, NodeId{first})) continue;
    std::vector<std::uint32_t> frontier{first};
    while (!frontier.empty()) {
      const NodeId from{frontier.back()};
      frontier.pop_back();
      for (std::uint32_t i = 0; i < world.size(); ++i) {
        const NodeId to{i};
        if (known[i] || !runs(world, to) || !world.reaches(from, to) || !world.reaches(to, from))
          continue;
        known[i] = true;
        part[i] = first;
        frontier.push_back(i);
      }
    }
  }
  return part;
}

}  // namespace tempo::sim::election
