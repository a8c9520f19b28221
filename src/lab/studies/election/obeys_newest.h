// obeys-newest, always, if there are epochs: no node applies an Adjtime or Settime of an epoch
// lower than one it has followed since its start.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "lab/sim/world.h"
#include "lab/studies/election/violation.h"
#include "protocol/election/master_types.h"

namespace tempo::sim::election {

class ObeysNewest : public NoWatch {
 public:
  ObeysNewest(Violations& violations, bool applies) : violations_(&violations), applies_(applies) {}

  template <class World>
  void noticed(const World& world, NodeId id, const tempo::election::Notice& notice) {
    using tempo::election::Change;
    if (notice.news != Change::adjusted && notice.news != Change::set) return;
    Epoch& highest = highest_of(world, id);
    if (applies_ && notice.epoch < highest)
      violations_->add({"obeys-newest", world.now(),
                        fmt::format("{} applied a correction of round {} after following round {}",
                                    index(id) + 1, notice.epoch.round, highest.round)});
    highest = std::max(highest, notice.epoch);
  }
  template <class World>
  void stepped(const World& world, NodeId id) {
    Epoch& highest = highest_of(world, id);
    highest = std::max(highest, world.machine(id).followed());
  }
  template <class World>
  void disturbed(const World& world, NodeId id, const char* what) {
    if (id != kNobody && std::string_view{what} == "starts") highest_of(world, id) = kNoEpoch;
  }

 private:
  template <class World>
  Epoch& highest_of(const World& world, NodeId id) {
    if (highest_.size() < world.size()) highest_.resize(world.size());
    return highest_[index(id)];
  }

  Violations* violations_;
  bool applies_;
  std::vector<Epoch> highest_;  // by node: highest epoch followed or applied in this incarnation
};

}  // namespace tempo::sim::election
