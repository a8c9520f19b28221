// one-master, when faults have stopped and timers have expired: exactly one master in each
// connected part, and all nodes of the part follow it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "lab/studies/election/parts.h"
#include "protocol/election/master_types.h"

namespace tempo::sim::election {

// The reason why the property does not hold now; unset: it holds.
template <class World>
std::optional<std::string> not_one_master(const World& world) {
  using tempo::election::State;
  const std::vector<std::uint32_t> part = parts_of(world);
  std::vector<NodeId> master(world.size(), kNobody);
  for (std::uint32_t i = 0; i < world.size(); ++i) {
    if (!runs(world, NodeId{i}) || world.machine(NodeId{i}).state() != State::master) continue;
    if (master[part[i]] != kNobody)
      return fmt::format("{} and {} are both masters", index(master[part[i]]) + 1, i + 1);
    master[part[i]] = NodeId{i};
  }
  for (std::uint32_t i = 0; i < world.size(); ++i) {
    if (!runs(world, NodeId{i})) continue;
    if (master[part[i]] == kNobody) return fmt::format("{} has no master", i + 1);
    if (NodeId{i} == master[part[i]]) continue;
    if (world.machine(NodeId{i}).state() != State::slave)
      return fmt::format("{} is still in {}", i + 1, name_of(world.machine(NodeId{i}).state()));
    if (world.machine(NodeId{i}).followed() != world.machine(master[part[i]]).followed())
      return fmt::format("{} does not follow {}", i + 1, index(master[part[i]]) + 1);
  }
  return std::nullopt;
}

}  // namespace tempo::sim::election
