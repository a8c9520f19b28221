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

// The election inside a member; null: the member is malicious.
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
// A relayed message is not a new broadcast.
template <class Content>
bool counts(const tempo::broadcast::Message<Content>& message) {
  return message.hops == 1 && message.kind == tempo::broadcast::Message<Content>::Kind::word &&
         counts(message.content);
}

// Counts broadcasts and rounds, and records the decisions and their time.
struct Recorder : NoWatch {
  explicit Recorder(const std::vector<bool>& is_honest)
      : honest(is_honest),
        choices(is_honest.size()),
        rounds(is_honest.size(), 0),
        in_coll2(is_honest.size()) {}

  std::vector<bool> honest;
  std::vector<std::optional<NodeId>> choices;  // first election only
  std::vector<std::uint32_t> rounds;           // C: rounds of each process
  std::vector<bool> in_coll2;
  std::uint64_t broadcasts = 0;
  Instant decided{};  // last honest decision in the first election

  template <class World, class Message>
  void sent(const World& /*world*/, NodeId from, NodeId /*to*/, const Message& message,
            std::uint32_t /*number*/) {
    broadcasts += honest[index(from)] && counts(message);
  }
  template <class World, class Carried>
  void noticed(const World& world, NodeId node, const OneOf<Carried, Notice>& notice) {
    if (const Notice* election = std::get_if<1>(&notice.body)) noticed(world, node, *election);
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

struct PlannedEvent {
  enum class Kind : std::uint8_t { hold, offer, crash, pause, resume };
  Instant at;
  Kind kind;
  NodeId node;
  std::int64_t capacity = 0;
};

// Everything that the seed decides before the world starts.
struct Plan {
  std::vector<std::int64_t> capacities;  // negative: not a candidate
  std::vector<bool> malicious;
  std::vector<PlannedEvent> events;
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
  plan.malicious.assign(setup.nodes, false);
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
  const auto add = [&](Nanos at, PlannedEvent::Kind kind, NodeId node, std::int64_t capacity = 0) {
    plan.events.push_back({Instant{} + at, kind, node, capacity});
  };
  for (std::uint32_t i = 0; i < setup.malicious; ++i) plan.malicious[index(take_faulty())] = true;
  for (std::uint32_t i = 0; i < setup.crashes; ++i)
    add(stream.uniform(Nanos{0}, 4 * setup.bound), PlannedEvent::Kind::crash, take_faulty());
  // A paused process counts as honest. A pause that begins before the election delays its start.
  std::vector<Nanos> paused_until(setup.nodes);
  for (std::uint32_t i = 0; i < setup.pauses; ++i) {
    const NodeId node = faulty[i];
    const Nanos from = stream.uniform(-setup.bound, setup.bound);
    const Nanos to = from + stream.uniform(setup.bound, 2 * setup.bound);
    add(std::max(from, Nanos{0}), PlannedEvent::Kind::pause, node);
    add(to, PlannedEvent::Kind::resume, node);
    if (from <= Nanos{0}) paused_until[index(node)] = to;
  }

  // With A every process begins, with the others every candidate that no other has preceded.
  for (std::uint32_t i = 0; i < setup.nodes; ++i) {
    const NodeId node{i};
    if (plan.malicious[i] || (setup.algorithm != Algorithm::a && plan.capacities[i] < 0)) continue;
    const Nanos begin =
        stream.uniform(Nanos{0}, setup.start_skew) + stream.uniform(Nanos{0}, setup.clock_error);
    add(std::max(begin, paused_until[i]), PlannedEvent::Kind::hold, node);
    if (setup.criterion == Criterion::changing)
      for (int k = 0; k < 3; ++k)
        add(stream.uniform(Nanos{0}, 6 * setup.bound), PlannedEvent::Kind::offer, node,
            static_cast<std::int64_t>(stream.below(kCapacities)));
  }
  std::ranges::stable_sort(plan.events, {}, &PlannedEvent::at);
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
M make(NodeId id, const Rules& rules, const BroadcastRules& carrier, bool malicious) {
  if constexpr (IsOver<M>::value) {
    using Rider = std::remove_cvref_t<decltype(std::declval<M>().rider())>;
    return M(typename M::Carrier(id, Incarnation{1}, carrier), Rider(id, rules));
  } else if constexpr (IsMember<M>::value) {
    using Honest = std::remove_cvref_t<decltype(*std::declval<M>().honest())>;
    return malicious ? M(Byzantine<Honest>(id, rules)) : M(Honest(id, rules));
  } else {
    CHECK(!malicious);
    return M(id, rules);
  }
}

// By this time every election has ended, including a few re-elections.
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
Outcome run_with(const Setup& requested) {
  const BroadcastRules carrier{.members = requested.nodes,
                               .delay = requested.delay,
                               .precision = requested.precision,
                               .faulty = requested.crashes};
  Setup setup = requested;
  if (setup.over_atomic) setup.bound = carrier.bound();
  const Rules rules{.members = setup.nodes,
                    .bound = setup.bound,
                    .malicious = setup.malicious,
                    .variant = setup.variant};
  const Plan plan = plan_of(setup);
  Recorder recorder(plan.honest);
  World<M, Recorder> world(
      {.nodes = setup.nodes, .seed = setup.seed, .link = link_of(setup)},
      [&](NodeId id, Incarnation) {
        return make<M>(id, rules, carrier, plan.malicious[index(id)]);
      },
      recorder);
  Stream clocks(setup.seed, std::to_underlying(Cause::plan), 1);
  if (setup.over_atomic)
    for (std::uint32_t i = 0; i < setup.nodes; ++i)
      world.set_clock(
          NodeId{i}, Oscillator({.offset = clocks.unit() * in_seconds(setup.precision)}, Stream{}));
  for (std::uint32_t i = 0; i < setup.nodes; ++i) world.start(NodeId{i});
  for (std::uint32_t i = 0; i < setup.nodes; ++i)
    if (!plan.malicious[i]) world.command(NodeId{i}, Command::offer(plan.capacities[i]));

  Instant began = kNever;
  for (const PlannedEvent& event : plan.events) {
    world.run_until(event.at);
    switch (event.kind) {
      case PlannedEvent::Kind::hold:
        if (world.up(event.node)) began = std::min(began, event.at);
        world.command(event.node, Command::hold());
        break;
      case PlannedEvent::Kind::offer:
        world.command(event.node, Command::offer(event.capacity));
        break;
      case PlannedEvent::Kind::crash:
        world.crash(event.node);
        break;
      case PlannedEvent::Kind::pause:
        world.pause(event.node);
        break;
      case PlannedEvent::Kind::resume:
        world.resume(event.node);
        break;
    }
  }
  world.run_until(Instant{} + long_enough(setup));

  Outcome outcome{
      .broadcasts = recorder.broadcasts, .events = world.events(), .bound = setup.bound};
  bool all_decided = true;
  std::vector<NodeId> choices;
  for (std::uint32_t i = 0; i < setup.nodes; ++i) {
    const auto* machine = honest_part(world.machine(NodeId{i}));
    if (machine == nullptr || !world.up(NodeId{i})) continue;
    std::optional<NodeId> choice = recorder.choices[i];
    using Election = std::remove_cvref_t<decltype(*machine)>;
    if constexpr (std::is_same_v<Election, CapacityB1>) {
      // The last election counts: the earlier ones elected a process that had crashed.
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
  outcome.rounds = 1 + *std::ranges::max_element(recorder.rounds);
  outcome.disagree =
      std::ranges::any_of(choices, [&](NodeId choice) { return choice != choices.front(); });
  outcome.unique = all_decided && !outcome.disagree && !choices.empty() && choices[0] != kNobody;
  if (recorder.decided > Instant{} && began != kNever) outcome.time = recorder.decided - began;
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
        CHECK(false);  // these algorithms do not use atomic broadcast
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
