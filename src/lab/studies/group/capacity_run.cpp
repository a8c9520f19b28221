#include "lab/studies/group/capacity_run.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "lab/baselines/capacity_b2_unordered.h"
#include "lab/sim/world.h"
#include "lab/studies/group/capacity_byzantine.h"
#include "lab/studies/group/capacity_member.h"
#include "protocol/broadcast/over.h"
#include "protocol/group/capacity_a.h"
#include "protocol/group/capacity_b1.h"
#include "protocol/group/capacity_b2.h"
#include "protocol/group/capacity_c.h"

namespace tempo::sim::capacity {
namespace {

using tempo::broadcast::Over;
using tempo::election::CapacityA;
using tempo::election::CapacityB1;
using tempo::election::CapacityB2;
using tempo::election::CapacityB2Unordered;
using tempo::election::CapacityC;
using tempo::election::capacity::Command;
using tempo::election::capacity::Notice;
using tempo::election::capacity::Rules;

// The election under a member, whoever that is; null: a liar.
template <class M>
const M* honest_part(const M& machine) {
  return &machine;
}
template <class M, class L>
const M* honest_part(const Member<M, L>& member) {
  return member.honest();
}
template <class M>
const M* honest_part(const Over<M>& over) {
  return &over.rider();
}

bool counts(const tempo::election::capacity_b1::Message& message) {
  return message.kind == tempo::election::capacity_b1::Kind::bid;
}
bool counts(const auto& /*message*/) { return true; }
template <class Content>  // what is handed on is no new broadcast
bool counts(const tempo::broadcast::Message<Content>& message) {
  return message.hops == 1 && message.kind == tempo::broadcast::Message<Content>::Kind::word &&
         counts(message.content);
}

// Counts broadcasts and rounds and notes what was decided, and when.
struct Ear : NoWatch {
  explicit Ear(const std::vector<bool>& who)
      : honest(who), choices(who.size()), rounds(who.size(), 0), in_coll2(who.size()) {}

  std::vector<bool> honest;
  std::vector<std::optional<NodeId>> choices;  // of the first election
  std::vector<std::uint32_t> rounds;           // of C
  std::vector<bool> in_coll2;
  std::uint64_t broadcasts = 0;
  Instant decided{};  // the last honest decision in the first election

  template <class World, class Message>
  void sent(const World& /*world*/, NodeId from, NodeId /*to*/, const Message& message,
            std::uint32_t /*number*/) {
    broadcasts += honest[index(from)] && counts(message);
  }
  template <class World, class Carried>
  void noticed(const World& world, NodeId node, const OneOf<Carried, Notice>& notice) {
    if (const Notice* of_election = std::get_if<1>(&notice.body))
      noticed(world, node, *of_election);
  }
  template <class World>
  void noticed(const World& world, NodeId node, const Notice& notice) {
    if (notice.kind != Notice::Kind::elected || notice.number > 1) return;
    choices[index(node)] = notice.master;
    if (honest[index(node)]) decided = std::max(decided, world.now());
  }
  template <class World>
  void stepped(const World& world, NodeId node) {
    CHECK(world.machine(node).check() == nullptr);
    if constexpr (requires { world.machine(node).phase() == CapacityC::Phase::coll2; }) {
      const bool now_in = world.machine(node).phase() == CapacityC::Phase::coll2;
      rounds[index(node)] += now_in && !in_coll2[index(node)];
      in_coll2[index(node)] = now_in;
    }
  }
};

struct Happening {
  enum class Kind : std::uint8_t { hold, offer, crash, pause, resume };
  Instant at;
  Kind kind;
  NodeId node;
  std::int64_t capacity = 0;
};

// Everything that a seed decides before the world begins.
struct Plan {
  std::vector<std::int64_t> capacities;  // below zero: no candidate
  std::vector<bool> liars;
  std::vector<Happening> happenings;
  std::vector<bool> honest;
};

std::vector<NodeId> shuffled(std::uint32_t nodes, Stream& stream) {
  std::vector<NodeId> order(nodes);
  for (std::uint32_t i = 0; i < nodes; ++i) order[i] = NodeId{i};
  for (std::uint32_t i = nodes; i > 1; --i) std::swap(order[i - 1], order[stream.below(i)]);
  return order;
}

constexpr std::uint64_t kCapacities = 1'000'000;

std::int64_t capacity_of(Criterion criterion, NodeId node, Stream& stream) {
  switch (criterion) {
    case Criterion::id:
      return index(node);
    case Criterion::equal:
      return 7;
    case Criterion::random:
    case Criterion::changing:
      break;
  }
  return static_cast<std::int64_t>(stream.below(kCapacities));
}

Plan plan_of(const Setup& setup) {
  Stream stream(setup.seed, std::to_underlying(Cause::plan), 0);
  Plan plan;
  plan.capacities.assign(setup.nodes, -1);
  plan.liars.assign(setup.nodes, false);
  plan.honest.assign(setup.nodes, true);
  const std::vector<NodeId> order = shuffled(setup.nodes, stream);
  for (std::uint32_t i = 0; i < setup.candidates; ++i)
    plan.capacities[index(order[i])] = capacity_of(setup.criterion, order[i], stream);

  std::vector<NodeId> faulty = shuffled(setup.nodes, stream);
  const auto take_faulty = [&] {
    const NodeId node = faulty.back();
    faulty.pop_back();
    plan.honest[index(node)] = false;
    return node;
  };
  const auto add = [&](Nanos at, Happening::Kind kind, NodeId node, std::int64_t capacity = 0) {
    plan.happenings.push_back({Instant{} + at, kind, node, capacity});
  };
  for (std::uint32_t i = 0; i < setup.malicious; ++i) plan.liars[index(take_faulty())] = true;
  for (std::uint32_t i = 0; i < setup.crashes; ++i)
    add(stream.uniform(Nanos{0}, 4 * setup.bound), Happening::Kind::crash, take_faulty());
  // A pause is no excuse: who pauses counts as honest. One that begins before the election makes
  // its process begin late.
  std::vector<Nanos> paused_until(setup.nodes);
  for (std::uint32_t i = 0; i < setup.pauses; ++i) {
    const NodeId node = faulty[i];
    const Nanos from = stream.uniform(-setup.bound, setup.bound);
    const Nanos to = from + stream.uniform(setup.bound, 2 * setup.bound);
    add(std::max(from, Nanos{0}), Happening::Kind::pause, node);
    add(to, Happening::Kind::resume, node);
    if (from <= Nanos{0}) paused_until[index(node)] = to;
  }

  // A begins everywhere, the others with each candidate, if nobody was faster.
  for (std::uint32_t i = 0; i < setup.nodes; ++i) {
    const NodeId node{i};
    if (plan.liars[i] || (setup.algorithm != Algorithm::a && plan.capacities[i] < 0)) continue;
    const Nanos begin =
        stream.uniform(Nanos{0}, setup.start_skew) + stream.uniform(Nanos{0}, setup.clock_error);
    add(std::max(begin, paused_until[i]), Happening::Kind::hold, node);
    if (setup.criterion == Criterion::changing)
      for (int k = 0; k < 3; ++k)
        add(stream.uniform(Nanos{0}, 6 * setup.bound), Happening::Kind::offer, node,
            static_cast<std::int64_t>(stream.below(kCapacities)));
  }
  std::ranges::stable_sort(plan.happenings, {}, &Happening::at);
  return plan;
}

template <class M>
struct IsMember : std::false_type {};
template <class M, class L>
struct IsMember<Member<M, L>> : std::true_type {};

template <class M>
struct IsOver : std::false_type {};
template <class M>
struct IsOver<Over<M>> : std::true_type {};

using BroadcastRules = tempo::broadcast::Rules;

template <class M>
M make(NodeId id, const Rules& rules, const BroadcastRules& carrier, bool lies) {
  if constexpr (IsOver<M>::value) {
    using Rider = std::remove_cvref_t<decltype(std::declval<M>().rider())>;
    return M(typename M::Carrier(id, Incarnation{1}, carrier), Rider(id, rules));
  } else if constexpr (IsMember<M>::value) {
    using Honest = std::remove_cvref_t<decltype(*std::declval<M>().honest())>;
    return lies ? M(Byzantine<Honest>(id, rules)) : M(Honest(id, rules));
  } else {
    CHECK(!lies);
    return M(id, rules);
  }
}

// So long every election of every kind has ended, with a few re-elections.
Nanos long_enough(const Setup& setup) {
  const int rounds = 60 + 6 * static_cast<int>(setup.malicious + 1);
  return setup.start_skew + setup.clock_error + rounds * setup.bound;
}

Link link_of(const Setup& setup) {
  if (setup.over_atomic) return {.delay = Delay::uniform(Nanos{1}, setup.delay)};
  const bool ordered =
      setup.algorithm != Algorithm::c && setup.algorithm != Algorithm::b2_unordered;
  return {.delay = Delay::uniform(Nanos{1}, setup.bound),
          .loss = setup.loss,
          .same_order = ordered,
          .echo = setup.self_delivery};
}

template <class M>
Outcome run_with(const Setup& asked) {
  const BroadcastRules carrier{.members = asked.nodes,
                               .delay = asked.delay,
                               .precision = asked.precision,
                               .faulty = asked.crashes};
  Setup setup = asked;
  if (setup.over_atomic) setup.bound = carrier.bound();
  const Rules rules{.members = setup.nodes,
                    .bound = setup.bound,
                    .malicious = setup.malicious,
                    .variant = setup.variant};
  const Plan plan = plan_of(setup);
  Ear ear(plan.honest);
  World<M, Ear> world(
      {.nodes = setup.nodes, .seed = setup.seed, .link = link_of(setup)},
      [&](NodeId id, Incarnation) { return make<M>(id, rules, carrier, plan.liars[index(id)]); },
      ear);
  Stream clocks(setup.seed, std::to_underlying(Cause::plan), 1);
  if (setup.over_atomic)
    for (std::uint32_t i = 0; i < setup.nodes; ++i)
      world.set_clock(
          NodeId{i}, Oscillator({.offset = clocks.unit() * in_seconds(setup.precision)}, Stream{}));
  for (std::uint32_t i = 0; i < setup.nodes; ++i) world.start(NodeId{i});
  for (std::uint32_t i = 0; i < setup.nodes; ++i)
    if (!plan.liars[i]) world.command(NodeId{i}, Command::offer(plan.capacities[i]));

  Instant began = kNever;
  for (const Happening& happening : plan.happenings) {
    world.run_until(happening.at);
    switch (happening.kind) {
      case Happening::Kind::hold:
        if (world.up(happening.node)) began = std::min(began, happening.at);
        world.command(happening.node, Command::hold());
        break;
      case Happening::Kind::offer:
        world.command(happening.node, Command::offer(happening.capacity));
        break;
      case Happening::Kind::crash:
        world.crash(happening.node);
        break;
      case Happening::Kind::pause:
        world.pause(happening.node);
        break;
      case Happening::Kind::resume:
        world.resume(happening.node);
        break;
    }
  }
  world.run_until(Instant{} + long_enough(setup));

  Outcome outcome{.broadcasts = ear.broadcasts, .events = world.events(), .bound = setup.bound};
  bool all_decided = true;
  std::vector<NodeId> choices;
  for (std::uint32_t i = 0; i < setup.nodes; ++i) {
    const auto* machine = honest_part(world.machine(NodeId{i}));
    if (machine == nullptr || !world.up(NodeId{i})) continue;
    std::optional<NodeId> choice = ear.choices[i];
    using Election = std::remove_cvref_t<decltype(*machine)>;
    if constexpr (std::is_same_v<Election, CapacityB1>) {  // the last election counts: others
                                                           // elected the dead
      outcome.reelections = std::max(outcome.reelections, machine->number() - 1);
      choice = machine->decided() ? std::optional(machine->master()) : std::nullopt;
    }
    if constexpr (std::is_same_v<M, CapacityC>)
      outcome.help += machine->phase() == CapacityC::Phase::help;
    all_decided &= choice.has_value();
    if (!choice) continue;
    choices.push_back(*choice);
    outcome.masters += *choice == NodeId{i};
  }
  outcome.rounds = 1 + *std::ranges::max_element(ear.rounds);
  outcome.disagree =
      std::ranges::any_of(choices, [&](NodeId choice) { return choice != choices.front(); });
  outcome.unique = all_decided && !outcome.disagree && !choices.empty() && choices[0] != kNobody;
  if (ear.decided > Instant{} && began != kNever) outcome.time = ear.decided - began;
  return outcome;
}

}  // namespace

Outcome run(const Setup& setup) {
  CHECK(setup.nodes > 0 && setup.candidates <= setup.nodes);
  CHECK(setup.malicious + setup.crashes + setup.pauses < setup.nodes);
  if (setup.over_atomic) {
    CHECK(setup.malicious == 0 && setup.nodes >= setup.crashes + 2);
    switch (setup.algorithm) {
      case Algorithm::a:
        return run_with<Over<CapacityA>>(setup);
      case Algorithm::b1:
        return run_with<Over<CapacityB1>>(setup);
      case Algorithm::b2:
        return run_with<Over<CapacityB2>>(setup);
      case Algorithm::b2_unordered:
      case Algorithm::c:
        CHECK(false);  // they do without
    }
  }
  switch (setup.algorithm) {
    case Algorithm::a:
      return run_with<CapacityA>(setup);
    case Algorithm::b1:
      return run_with<CapacityB1>(setup);
    case Algorithm::b2:
      return run_with<Member<CapacityB2, Byzantine<CapacityB2>>>(setup);
    case Algorithm::b2_unordered:
      return run_with<Member<CapacityB2Unordered, Byzantine<CapacityB2Unordered>>>(setup);
    case Algorithm::c:
      return run_with<CapacityC>(setup);
  }
  CHECK(false);
  return {};
}

}  // namespace tempo::sim::capacity
