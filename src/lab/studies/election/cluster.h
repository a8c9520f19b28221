// A World of master elections with all its watches, and the operations that disturb it.
//
// Scenarios, scripts and tests all act on a Cluster; there is no second way to run an election.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "lab/sim/tracer.h"
#include "lab/sim/world.h"
#include "lab/studies/election/all_listed.h"
#include "lab/studies/election/conservative.h"
#include "lab/studies/election/costs.h"
#include "lab/studies/election/fault.h"
#include "lab/studies/election/obeys_newest.h"
#include "lab/studies/election/one_master.h"
#include "lab/studies/election/sole_candidate_wins.h"
#include "lab/studies/election/violation.h"
#include "protocol/election/master.h"

namespace tempo::sim::election {

using tempo::election::MasterElection;

struct Setup {
  std::uint32_t nodes = 5;
  tempo::election::Rules rules{};
  Link link{};
  std::uint64_t seed = 1;
  std::vector<Ppb> rates{};  // of the nodes' clocks; missing entries are 0
  bool keep_trace = false;
  bool pauses = false;  // the plan has pauses: some properties are then not checked
};

// Counts the current masters, and records whether there were ever two in a connected network.
class Reigns : public NoWatch {
 public:
  template <class World>
  void stepped(const World& world, NodeId id) {
    using tempo::election::State;
    if (rules_.size() < world.size()) rules_.resize(world.size());
    const State state = world.machine(id).state();
    const bool rules =
        (state == State::master || state == State::conflict) && !world.machine(id).ended();
    if (rules == rules_[index(id)]) return;
    set(id, rules);
    if (rules) {
      ++reigns_;
      last_began_ = world.now();
      last_ = id;
    }
    ever_two_ |= count_ > 1;
  }
  template <class World>
  void disturbed(const World&, NodeId id, const char* what) {
    const bool still_rules =
        std::string_view{what} == "pauses" || std::string_view{what} == "resumes";
    if (id != kNobody && index(id) < rules_.size() && !still_rules) set(id, false);
  }

  std::uint32_t count() const { return count_; }
  std::uint32_t reigns() const { return reigns_; }  // number of terms begun
  bool ever_two() const { return ever_two_; }
  Instant last_began() const { return last_began_; }
  NodeId last() const { return last_; }
  void forget_two() { ever_two_ = false; }

 private:
  void set(NodeId id, bool rules) {
    if (rules_[index(id)] == rules) return;
    rules_[index(id)] = rules;
    rules ? ++count_ : --count_;
  }

  std::vector<bool> rules_;
  std::uint32_t count_ = 0;
  std::uint32_t reigns_ = 0;
  bool ever_two_ = false;
  Instant last_began_{};
  NodeId last_ = kNobody;
};

// All watches in one.
class Watches {
 public:
  Watches(const Setup& setup, Violations& violations);

  template <class... Args>
  void sent(const Args&... args) {
    tracer.sent(args...);
    costs.sent(args...);
  }
  template <class... Args>
  void lost(const Args&... args) {
    tracer.lost(args...);
  }
  template <class... Args>
  void unheard(const Args&...) {}
  template <class... Args>
  void received(const Args&... args) {
    tracer.received(args...);
    costs.received(args...);
  }
  template <class... Args>
  void noticed(const Args&... args) {
    obeys_newest.noticed(args...);
    corrections.noticed(args...);
  }
  template <class World>
  void stepped(const World& world, NodeId id) {
    tracer.stepped(world, id);
    costs.stepped(world, id);
    reigns.stepped(world, id);
    obeys_newest.stepped(world, id);
    conservative.stepped(world, id);
    sole_candidate_wins.stepped(world, id);
    if (const char* broken = world.machine(id).check())
      violations->add({"invariant", world.now(), broken});
  }
  template <class World>
  void disturbed(const World& world, NodeId id, const char* what) {
    tracer.disturbed(world, id, what);
    costs.disturbed(world, id, what);
    reigns.disturbed(world, id, what);
    obeys_newest.disturbed(world, id, what);
    conservative.disturbed(world, id, what);
    sole_candidate_wins.disturbed(world, id, what);
  }

  Violations* violations;
  Tracer tracer;
  Costs costs;
  Reigns reigns;
  Corrections corrections;
  ObeysNewest obeys_newest;
  Conservative conservative;
  SoleCandidateWins sole_candidate_wins;
};

class Cluster {
 public:
  using Sim = World<MasterElection, Watches>;

  explicit Cluster(Setup setup);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  ~Cluster() = default;

  // Runs to the fault's time and applies it; its end, if any, is applied in due time.
  void apply(const Fault& fault);
  void run_until(Instant limit);
  // Stops after the step in which `done()` becomes true; returns whether it did.
  template <class Done>
  bool run_until(Instant limit, Done done) {
    while (!ends_.empty() && ends_.front().first <= limit) {
      if (world_->run_until(ends_.front().first, done)) return true;
      end_first();
    }
    return world_->run_until(limit, done);
  }

  Instant now() const { return world_->now(); }
  const Sim& world() const { return *world_; }
  // For actions that no Fault describes: forged messages and Byzantine nodes.
  Sim& world() { return *world_; }
  Watches& watches() { return watches_; }
  const Watches& watches() const { return watches_; }
  Violations& violations() { return violations_; }
  const Setup& setup() const { return setup_; }
  // The only running master, or kNobody.
  NodeId master() const;

 private:
  void begin(const Fault& fault);
  void end(const Fault& fault);
  void end_first();
  void refresh_cuts();
  DeliveryDecision fate(NodeId from, NodeId to, const tempo::election::Message& message) const;

  Setup setup_;
  Violations violations_;
  Watches watches_;
  std::unique_ptr<Sim> world_;
  std::vector<Fault> in_force_;                  // partitions and delivery rules in effect
  std::vector<std::pair<Instant, Fault>> ends_;  // by time, then in the order of creation
};

}  // namespace tempo::sim::election

// Compiled once, in cluster.cpp.
extern template class tempo::sim::World<tempo::election::MasterElection,
                                        tempo::sim::election::Watches>;
