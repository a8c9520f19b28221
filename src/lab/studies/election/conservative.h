// conservative, under no loss, no pause and every delay below half the candidate timer: at no
// instant are there two masters in one connected part.
//
// When two parts join, each brings its master; this is not a violation. So a new master is judged
// only if the connectivity has not changed for the longest time that an election may take.
#pragma once

#include <vector>

#include <fmt/core.h>

#include "lab/sim/world.h"
#include "lab/studies/election/parts.h"
#include "lab/studies/election/violation.h"
#include "protocol/election/master_rules.h"
#include "protocol/election/master_types.h"

namespace tempo::sim::election {

class Conservative : public NoWatch {
 public:
  Conservative(Violations& violations, const tempo::election::Timing& timing, bool applies)
      : violations_(&violations),
        longest_election_(std::max(timing.startup + timing.no_master, timing.accept) +
                          2 * timing.delay),
        applies_(applies) {}

  template <class World>
  void stepped(const World& world, NodeId id) {
    using tempo::election::State;
    if (!applies_) return;
    if (ruled_.size() < world.size()) ruled_.resize(world.size());
    const State state = world.machine(id).state();
    const bool rules = state == State::master || state == State::conflict;
    const bool new_master = rules && !ruled_[index(id)];
    ruled_[index(id)] = rules;
    if (!new_master || world.now() < judge_from_) return;
    const std::vector<std::uint32_t> part = parts_of(world);
    for (std::uint32_t i = 0; i < world.size(); ++i) {
      if (i == index(id) || !ruled_[i] || !runs(world, NodeId{i}) || part[i] != part[index(id)])
        continue;
      violations_->add({"conservative", world.now(),
                        fmt::format("{} became master beside {}", index(id) + 1, i + 1)});
    }
  }
  template <class World>
  void disturbed(const World& world, NodeId id, const char* /*what*/) {
    if (ruled_.size() < world.size()) ruled_.resize(world.size());
    if (id == kNobody)
      judge_from_ = world.now() + longest_election_;
    else
      ruled_[index(id)] = false;
  }

 private:
  Violations* violations_;
  Nanos longest_election_;
  bool applies_;
  Instant judge_from_{};
  std::vector<bool> ruled_;
};

}  // namespace tempo::sim::election
