// The elections by capacity for the checker: a few processes, times in ticks, every order of
// events, every lie.
//
// Properties, each in the worlds that the algorithm is made for:
//   unique       processes that have decided in one election have elected the same process
//   best-wins    they have elected the best candidate, if no process lies, crashes or pauses and
//                all conditions hold
//   one-master   C only: no two processes consider themselves master
//   no-help      C only: no process ends in the state that asks for the winner
//   one-election if all begin together and no process crashes, there is no second election
// `unique` and `no-help` are properties of C only while no message is lost; `one-master` is checked
// also with losses, to find how many it takes. From every state all live processes can still
// finish.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "lab/check/explore.h"
#include "lab/check/model.h"
#include "lab/studies/group/b2_byzantine.h"
#include "lab/studies/group/capacity_member.h"
#include "protocol/group/capacity_a.h"
#include "protocol/group/capacity_b1.h"
#include "protocol/group/capacity_b2.h"
#include "protocol/group/capacity_c.h"

namespace tempo::check {

enum class CapacityAlgorithm : std::uint8_t { a, b1, b2, c };

struct CapacityWorld {
  CapacityAlgorithm algorithm = CapacityAlgorithm::a;
  std::uint32_t nodes = 3;
  // Number of candidates, the lowest ids; the last of them is the best.
  std::uint32_t candidates = 2;
  std::uint32_t malicious = 0;  // B.2: number of malicious processes, the highest ids
  std::uint8_t delay_max = 1;   // ticks
  std::uint8_t skew = 0;        // A: the last process begins this many ticks after the others
  bool together = false;        // all candidates begin at once; false: each at any time
  bool self_delivery = true;
  Budget budget{};
  election::capacity::Variant variant = election::capacity::Variant::corrected;
};

// T is a tick longer than the longest delay: within a tick a time-out may come before a message.
election::capacity::Rules rules_of(const CapacityWorld& world);
Freedom freedom_of(const CapacityWorld& world);
// The processes that may begin an election at any time.
std::vector<std::pair<NodeId, election::capacity::Command>> commands_of(const CapacityWorld& world);

struct CapacityView {
  enum class Stand : std::uint8_t { idle, busy, decided, help };
  bool honest = false;
  bool reigns = false;  // C: considers itself master and announces it
  Stand stand = Stand::idle;
  std::uint32_t number = 0;  // number of the election
  NodeId master = kNobody;
};

// The properties; true: satisfied.
using CapacityScene = Scene<CapacityView>;
bool unique(const CapacityScene& scene);
bool best_wins(const CapacityScene& scene, NodeId best);
bool one_master(const CapacityScene& scene);
bool no_help(const CapacityScene& scene);
// No process waits, and, as far as messages arrive, either all know the winner or none does.
bool all_at_rest(const CapacityWorld& world, const CapacityScene& scene);
bool one_election(const CapacityWorld& world, const CapacityScene& scene);

const char* violated_property(const CapacityWorld& world, const CapacityScene& scene);
// Number of elections explored; later elections are assumed to end well.
std::uint32_t elections_of(const CapacityWorld& world);
// The offer that a process makes at its start.
election::capacity::Command offer_of(const CapacityWorld& world, NodeId node);
bool holds_at_once(const CapacityWorld& world, NodeId node);

template <class Process>
const Process* process_of(const Process& process) {
  return &process;
}
template <class Honest, class Byzantine>
const Honest* process_of(const sim::capacity::Member<Honest, Byzantine>& member) {
  return member.honest();
}

template <class Process>
CapacityView view_of(const Process& process) {
  using Stand = CapacityView::Stand;
  const auto phase = process.phase();
  CapacityView view{.honest = true, .number = process.number(), .master = process.master()};
  if (process.decided()) view.stand = Stand::decided;
  // The first phase of every algorithm is the one before the election.
  else if (phase != decltype(phase){})
    view.stand = Stand::busy;
  if constexpr (requires { process.assured(); })
    if (process.decided() && !process.assured()) view.stand = Stand::busy;
  if constexpr (requires { Process::Phase::help; }) {
    if (phase == Process::Phase::help) view.stand = Stand::help;
    view.reigns = phase == Process::Phase::master;
  }
  return view;
}

template <class Process>
struct CapacityModel {
  using Machine = Process;
  using View = CapacityView;

  CapacityWorld world;
  election::capacity::Rules rules;

  Machine make(NodeId node, Incarnation /*incarnation*/) const { return Machine(node, rules); }
  void started(Machine& machine, NodeId node, Turn<Machine>& turn) const {
    machine.command(turn, offer_of(world, node));
    if (holds_at_once(world, node)) machine.command(turn, election::capacity::Command::hold());
  }
  View view(const Machine& machine) const {
    const auto* process = process_of(machine);
    return process == nullptr ? View{} : view_of(*process);
  }
  const char* broken(const CapacityScene& scene) const { return violated_property(world, scene); }
  bool good(const CapacityScene& scene) const { return all_at_rest(world, scene); }
  const char* broken_move(const CapacityScene& /*before*/, const CapacityScene& after,
                          NodeId /*node*/) const {
    return one_election(world, after) ? nullptr : "one-election";
  }
  bool remember(const CapacityScene& /*before*/, CapacityScene& after, NodeId node) const {
    return !after.up(index(node)) || after.slots[index(node)].view->number <= elections_of(world);
  }
};

using B2Member = sim::capacity::Member<election::CapacityB2, B2Byzantine>;
template <>
B2Member CapacityModel<B2Member>::make(NodeId node, Incarnation incarnation) const;

// The searches are instantiated once, in capacity_model.cpp.
extern template class Space<CapacityModel<election::CapacityA>>;
extern template class Search<CapacityModel<election::CapacityA>>;
extern template class Space<CapacityModel<election::CapacityB1>>;
extern template class Search<CapacityModel<election::CapacityB1>>;
extern template class Space<CapacityModel<B2Member>>;
extern template class Search<CapacityModel<B2Member>>;
extern template class Space<CapacityModel<election::CapacityC>>;
extern template class Search<CapacityModel<election::CapacityC>>;

// Calls `look(space)` with the state space of this world.
template <class Look>
auto in_space(const CapacityWorld& world, Look look) {
  const auto of = [&]<class Process>(std::type_identity<Process>) {
    const CapacityModel<Process> model{.world = world, .rules = rules_of(world)};
    Space<CapacityModel<Process>> space(model, freedom_of(world), commands_of(world));
    return look(space);
  };
  switch (world.algorithm) {
    case CapacityAlgorithm::a:
      return of(std::type_identity<election::CapacityA>{});
    case CapacityAlgorithm::b1:
      return of(std::type_identity<election::CapacityB1>{});
    case CapacityAlgorithm::b2:
      return of(std::type_identity<B2Member>{});
    case CapacityAlgorithm::c:
      return of(std::type_identity<election::CapacityC>{});
  }
  CHECK(false);
  return of(std::type_identity<election::CapacityA>{});
}

}  // namespace tempo::check
