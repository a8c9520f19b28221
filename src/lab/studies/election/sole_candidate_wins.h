// sole-candidate-wins, under no loss and no crash during the candidacy: a candidate without a rival
// becomes master, whatever messages are duplicated or late.
//
// A rival is a node that is a candidate, was one within the last accept time, is master, or becomes
// master meanwhile.
#pragma once

#include <vector>

#include <fmt/core.h>

#include "lab/sim/world.h"
#include "lab/studies/election/parts.h"
#include "lab/studies/election/violation.h"
#include "protocol/election/master_rules.h"
#include "protocol/election/master_types.h"

namespace tempo::sim::election {

class SoleCandidateWins : public NoWatch {
 public:
  SoleCandidateWins(Violations& violations, const tempo::election::Timing& timing, bool applies)
      : violations_(&violations), memory_(timing.accept + 2 * timing.delay), applies_(applies) {}

  template <class World>
  void stepped(const World& world, NodeId id) {
    using tempo::election::State;
    if (!applies_) return;
    if (states_.size() < world.size()) states_.resize(world.size(), State::startup);
    const State before = states_[index(id)];
    const State after = world.machine(id).state();
    if (before == after) return;
    states_[index(id)] = after;
    if (after == State::candidate) {
      sole_ = world.now() >= disturbed_until_ && nobody_else(world, id) ? id : kNobody;
      disturbed_until_ = std::max(disturbed_until_, world.now() + memory_);
      return;
    }
    if (id == sole_) {
      if (after != State::master)
        violations_->add(
            {"sole-candidate-wins", world.now(),
             fmt::format("{} stood alone and became {}", index(id) + 1, name_of(after))});
      sole_ = kNobody;
    } else if (after == State::master || after == State::no_master) {
      // Another node is master or about to become master: the candidate has a rival.
      sole_ = kNobody;
    }
  }
  template <class World>
  void disturbed(const World& world, NodeId id, const char* /*what*/) {
    if (id != kNobody && index(id) < states_.size())
      states_[index(id)] = tempo::election::State::startup;
    sole_ = kNobody;
    disturbed_until_ = std::max(disturbed_until_, world.now() + memory_);
  }

 private:
  template <class World>
  bool nobody_else(const World& world, NodeId id) const {
    using tempo::election::State;
    for (std::uint32_t i = 0; i < world.size(); ++i) {
      if (i == index(id) || !runs(world, NodeId{i})) continue;
      const State state = world.machine(NodeId{i}).state();
      if (state == State::candidate || state == State::master || state == State::conflict ||
          state == State::startup || state == State::no_master || state == State::consistency)
        return false;
    }
    return true;
  }

  Violations* violations_;
  Nanos memory_;
  bool applies_;
  NodeId sole_ = kNobody;      // the candidate being judged
  Instant disturbed_until_{};  // until then nodes may remember an earlier candidacy or fault
  std::vector<tempo::election::State> states_;
};

}  // namespace tempo::sim::election
