#include "lab/studies/group/broadcast/run.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "lab/sim/world.h"
#include "machine/field_list.h"
#include "protocol/broadcast/atomic.h"

namespace tempo::sim::broadcast {
namespace {

using tempo::broadcast::Doubt;
using tempo::broadcast::Rules;

struct Content {
  std::uint32_t value = 0;

  bool operator==(const Content&) const = default;
  static constexpr auto fields(auto list) { return list(field<&Content::value>("value")); }
};
using Machine = tempo::broadcast::Atomic<Content>;
using Message = Machine::Message;

struct Delivery {
  std::uint32_t value;
  Nanos clock;  // reading of the delivering process
};

struct DeliveryLog : NoWatch {
  explicit DeliveryLog(std::uint32_t nodes) : deliveries(nodes) {}
  std::vector<std::vector<Delivery>> deliveries;
  std::uint64_t alarms = 0;
  std::uint64_t transmissions = 0;

  template <class World>
  void sent(const World& /*world*/, NodeId /*from*/, NodeId /*to*/, const Message& /*message*/,
            std::uint32_t /*number*/) {
    ++transmissions;
  }
  template <class World>
  void noticed(const World& world, NodeId node, const Machine::Notice& notice) {
    using Kind = Machine::Notice::Kind;
    alarms += notice.kind == Kind::broken;
    if (notice.kind == Kind::delivered)
      deliveries[index(node)].push_back(
          {notice.content.value, world.local_now(node).time_since_epoch()});
  }
  template <class World>
  void stepped(const World& world, NodeId node) {
    CHECK(world.machine(node).check() == nullptr);
  }
};

// The effect of the faulty processes on each copy. Nodes below `faulty` are faulty.
class FaultInjector {
 public:
  FaultInjector(const Setup& setup, Stream& stream) : setup_(&setup), stream_(&stream) {}

  DeliveryDecision operator()(NodeId from, NodeId to, const Message& message) {
    const std::uint32_t faulty = setup_->rules.faulty;
    DeliveryDecision decision;
    if (setup_->late > 0 && stream_->chance(setup_->late))
      decision.extra = stream_->uniform(Nanos{1}, 3 * setup_->rules.delay);
    if (setup_->fault == Fault::random) {
      decision.lost = (index(from) < faulty || index(to) < faulty) && stream_->chance(0.5);
    } else if (index(from) < faulty) {
      // Along the chain, and from its end to the first correct process.
      decision.lost = index(message.sender) != 0 || index(to) != index(from) + 1;
    }
    return decision;
  }

 private:
  const Setup* setup_;
  Stream* stream_;
};

// True if both delivered their common messages in the same order.
bool same_order(const std::vector<Delivery>& one, const std::vector<Delivery>& other) {
  std::size_t place = 0;
  for (const Delivery& delivery : one) {
    const auto found = std::ranges::find(other, delivery.value, &Delivery::value);
    if (found == other.end()) continue;
    const auto at = static_cast<std::size_t>(found - other.begin());
    if (at < place) return false;
    place = at;
  }
  return true;
}

// `by_correct`: by value, whether a correct process broadcast it. The nodes from `faulty` on are
// correct.
Outcome judge(const DeliveryLog& log, const Rules& rules, const std::vector<bool>& by_correct) {
  const std::uint32_t faulty = rules.faulty;
  Outcome outcome{
      .broadcasts = by_correct.size(), .alarms = log.alarms, .transmissions = log.transmissions};
  const std::size_t correct = log.deliveries.size() - faulty;
  std::vector<std::vector<Nanos>> clocks(by_correct.size());
  for (std::size_t i = faulty; i < log.deliveries.size(); ++i) {
    std::vector<bool> seen(by_correct.size(), false);
    for (const Delivery& delivery : log.deliveries[i]) {
      outcome.twice += seen[delivery.value];
      seen[delivery.value] = true;
      clocks[delivery.value].push_back(delivery.clock);
    }
    outcome.disordered += !same_order(log.deliveries[i], log.deliveries[faulty]);
  }
  for (std::size_t value = 0; value < by_correct.size(); ++value) {
    const std::vector<Nanos>& at = clocks[value];
    outcome.lost += by_correct[value] && at.size() < correct;
    const bool same_time = std::ranges::all_of(
        at, [&](Nanos clock) { return clock / rules.unit == at.front() / rules.unit; });
    outcome.not_atomic += (!at.empty() && at.size() < correct) || !same_time;
  }
  return outcome;
}

// A message of a faulty process that no process has seen yet, as if broadcast at `stamp`.
Message held_back(const Rules& rules, Nanos stamp, std::uint32_t value) {
  return {.sender = NodeId{0},
          .number = value + 1,
          .life = Incarnation{1},
          .stamp = stamp,
          .delay = rules.delay,
          .signers = 1,
          .content = {value}};
}

}  // namespace

Outcome run(const Setup& setup) {
  const Rules& rules = setup.rules;
  CHECK(rules.members >= rules.faulty + 2);
  Stream stream(setup.seed, std::to_underlying(Cause::plan), 0);
  Stream chance(setup.seed, std::to_underlying(Cause::plan), 1);
  DeliveryLog log(rules.members);
  // The chain has the longest delay everywhere; otherwise any delay up to the bound.
  const bool slow = setup.fault == Fault::chain;
  World<Machine, DeliveryLog> world(
      {.nodes = rules.members,
       .seed = setup.seed,
       .link = {.delay =
                    slow ? Delay::constant(rules.delay) : Delay::uniform(Nanos{1}, rules.delay)}},
      [&](NodeId id, Incarnation) { return Machine(id, Incarnation{1}, rules); }, log);
  // Extreme clocks: in the chain the sender's clock is behind, the last ones are ahead.
  for (std::uint32_t i = 0; i < rules.members; ++i) {
    const bool ahead = slow ? i > rules.faulty : stream.below(2) == 0;
    const double offset = ahead ? in_seconds(rules.precision) : 0;
    world.set_clock(NodeId{i}, Oscillator({.offset = offset}, Stream{}));
  }
  world.set_delivery(FaultInjector(setup, chance));
  for (std::uint32_t i = 0; i < rules.members; ++i) world.start(NodeId{i});

  std::vector<bool> by_correct;
  const Nanos latency = rules.latency();
  for (std::uint32_t i = 0; i < setup.broadcasts; ++i) {
    world.run_until(world.now() + stream.uniform(Nanos{1}, latency));
    if (setup.fault == Fault::random && rules.faulty > 0 && i == setup.broadcasts / 2)
      world.crash(NodeId{0});
    const bool faulty_sender = setup.fault != Fault::random && rules.faulty > 0;
    const NodeId sender{faulty_sender ? 0
                                      : static_cast<std::uint32_t>(stream.below(rules.members))};
    if (!world.up(sender) || world.machine(sender).doubt() != Doubt::none) continue;
    const auto value = static_cast<std::uint32_t>(by_correct.size());
    by_correct.push_back(index(sender) >= rules.faulty);
    if (setup.fault == Fault::hold_back && rules.faulty > 0) {
      // In time for one correct process, and too late for its relay to reach the others.
      const Nanos stamp = world.local_now(NodeId{rules.faulty}).time_since_epoch() + rules.unit;
      world.run_until(world.now() + stream.uniform(latency / 2, latency - rules.delay));
      world.set_delivery({});
      world.inject(sender, NodeId{rules.faulty}, held_back(rules, stamp, value));
      world.set_delivery(FaultInjector(setup, chance));
    } else {
      world.command(sender, {.content = {value}});
    }
  }
  world.run_until(world.now() + 4 * latency + 8 * rules.delay);
  return judge(log, rules, by_correct);
}

}  // namespace tempo::sim::broadcast
