// all-listed, judged like one-master, but three Adjtime intervals and a Loop later on the slowest
// clock: every follower is on its master's list and receives corrections. (An overlooked follower
// notices after two of its own intervals, reports at the next Loop, and is corrected in the next
// round.)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "lab/sim/world.h"
#include "lab/studies/election/parts.h"
#include "protocol/election/master_types.h"

namespace tempo::sim::election {

// Records the time of each node's last correction.
class Corrections : public NoWatch {
 public:
  template <class World>
  void noticed(const World& world, NodeId id, const tempo::election::Notice& notice) {
    using tempo::election::Change;
    if (notice.news != Change::adjusted && notice.news != Change::set) return;
    if (last_.size() < world.size()) {
      last_.resize(world.size());
      count_.resize(world.size());
    }
    last_[index(id)] = world.now();
    ++count_[index(id)];
  }
  Instant last(NodeId id) const { return index(id) < last_.size() ? last_[index(id)] : Instant{}; }
  std::uint64_t count(NodeId id) const { return index(id) < count_.size() ? count_[index(id)] : 0; }

 private:
  std::vector<Instant> last_;
  std::vector<std::uint64_t> count_;
};

// The reason why the property does not hold now; unset: it holds.
template <class World>
std::optional<std::string> not_all_listed(const World& world, const Corrections& corrections,
                                          Nanos adjtime) {
  using tempo::election::State;
  for (std::uint32_t i = 0; i < world.size(); ++i) {
    const NodeId id{i};
    if (!runs(world, id) || world.machine(id).state() != State::slave) continue;
    const NodeId master = world.machine(id).master();
    if (master == kNobody || !runs(world, master) || !world.machine(master).list().contains(id))
      return fmt::format("{} is not on its master's list", i + 1);
    if (corrections.last(id) + 3 * adjtime < world.now())
      return fmt::format("{} has not been corrected for three intervals", i + 1);
  }
  return std::nullopt;
}

}  // namespace tempo::sim::election
