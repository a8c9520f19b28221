// no-starvation, when one daemon restarts repeatedly, or a master receives nothing although others
// receive its messages: the other nodes have a master that corrects them.
#pragma once

#include <optional>
#include <string>

#include <fmt/core.h>

#include "lab/studies/election/all_listed.h"
#include "lab/studies/election/parts.h"
#include "protocol/election/master_types.h"

namespace tempo::sim::election {

// The reason why the other nodes are not served now; unset: they are.
template <class World>
std::optional<std::string> starved(const World& world, const Corrections& corrections,
                                   Nanos adjtime, NodeId faulty) {
  using tempo::election::State;
  bool anybody_rules = false;
  for (std::uint32_t i = 0; i < world.size(); ++i) {
    const NodeId id{i};
    if (id == faulty || !runs(world, id)) continue;
    if (world.machine(id).state() == State::master) {
      anybody_rules = true;
      continue;
    }
    if (corrections.last(id) + 3 * adjtime < world.now())
      return fmt::format("{} has not been corrected for three intervals", i + 1);
  }
  if (!anybody_rules) return std::string("only the faulty node is master");
  return std::nullopt;
}

}  // namespace tempo::sim::election
