// The elections by capacity for the checker: a few processes, times in ticks, every order of
// events, every lie.
//
// Promised, each in the worlds that the algorithm is made for:
//   unique       processes that have decided in one election have elected the same one
//   best-wins    and it is the best candidate, if nobody lies, crashes or pauses and all conditions
//                are kept
//   one-master   of C alone: no two take themselves for the master
//   no-help      of C alone: nobody is left asking who has won
//   one-election where all begin together and nobody crashes there is no second one
// `unique` and `no-help` are promised of C only while nothing was lost; `one-master` is looked at
// all the same, to see how many losses it takes. And from every state all who live can still come
// to an end.
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
  std::uint32_t candidates = 2;  // the first so many; the last of them is the best
  std::uint32_t malicious = 0;   // of B.2: the last so many lie
  std::uint8_t delay_max = 1;    // ticks
  std::uint8_t skew = 0;         // of A: the last process begins so many ticks after the others
  bool together = false;         // all candidates begin at once; else each when it likes
  bool self_delivery = true;
  Budget budget{};
  election::capacity::Variant variant = election::capacity::Variant::corrected;
};

// T is a tick longer than a message takes: within a tick a time-out may come before a message.
election::capacity::Rules rules_of(const CapacityWorld& world);
Freedom freedom_of(const CapacityWorld& world);
// Who may begin an election at any time.
std::vector<std::pair<NodeId, election::capacity::Command>> commands_of(const CapacityWorld& world);

struct CapacityView {
  enum class Stand : std::uint8_t { idle, busy, decided, help };
  bool honest = false;
  bool reigns = false;  // takes itself for the master, and says so (C)
  Stand stand = Stand::idle;
  std::uint32_t number = 0;  // of the election
  NodeId master = kNobody;
};

// The promises, each by itself. True: it is kept.
using CapacityScene = Scene<CapacityView>;
bool unique(const CapacityScene& scene);
bool best_wins(const CapacityScene& scene, NodeId best);
bool one_master(const CapacityScene& scene);
bool no_help(const CapacityScene& scene);
// Nobody waits for anything, and as far as messages arrive all know the one or nobody does.
bool all_at_rest(const CapacityWorld& world, const CapacityScene& scene);
bool one_election(const CapacityWorld& world, const CapacityScene& scene);

const char* broken_promise(const CapacityWorld& world, const CapacityScene& scene);
// Elections after these are taken to end well.
std::uint32_t elections_of(const CapacityWorld& world);
// What is asked of a process when it starts.
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
  if (process.decided())
    view.stand = Stand::decided;
  else if (phase != decltype(phase){})  // the first phase of each is the one before the election
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

  Machine make(NodeId node, Incarnation /*life*/) const { return Machine(node, rules); }
  void started(Machine& machine, NodeId node, Turn<Machine>& turn) const {
    machine.command(turn, offer_of(world, node));
    if (holds_at_once(world, node)) machine.command(turn, election::capacity::Command::hold());
  }
  View view(const Machine& machine) const {
    const auto* process = process_of(machine);
    return process == nullptr ? View{} : view_of(*process);
  }
  const char* broken(const CapacityScene& scene) const { return broken_promise(world, scene); }
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
B2Member CapacityModel<B2Member>::make(NodeId node, Incarnation life) const;

// Searches are made once, in capacity_model.cpp.
extern template class Space<CapacityModel<election::CapacityA>>;
extern template class Search<CapacityModel<election::CapacityA>>;
extern template class Space<CapacityModel<election::CapacityB1>>;
extern template class Search<CapacityModel<election::CapacityB1>>;
extern template class Space<CapacityModel<B2Member>>;
extern template class Search<CapacityModel<B2Member>>;
extern template class Space<CapacityModel<election::CapacityC>>;
extern template class Search<CapacityModel<election::CapacityC>>;

// Calls `look(space)` with the space of all that can happen in this world.
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
