#include "lab/studies/lock/optimistic_run.h"

#include <vector>

#include "lab/baselines/optimistic.h"
#include "lab/studies/lock/setting.h"

namespace tempo::sim::lock {
namespace {

using tempo::lock::Mode;
using tempo::lock::Optimistic;
using tempo::lock::optimistic::Command;
using tempo::lock::optimistic::Notice;
using tempo::lock::optimistic::Rules;

Rules rules_of_reading(const Setup& setup) {
  const tempo::lock::Bounds bounds = bounds_of(setup);
  Rules rules{.bounds = bounds, .step = bounds.step_min, .waits = setup.waits};
  rules.write = rules.piece_read();  // a write takes as long as a read
  return rules;
}

std::vector<NodeId> readers_of(const Setup& setup) {
  std::vector<NodeId> sites;
  sites.reserve(setup.contending - 1);
  for (std::uint32_t i = 1; i < setup.contending; ++i) sites.push_back(NodeId{i - 1});
  return sites;
}

// Counts messages, attempts and reads; client i is the reader at site i + 1.
class Ear : public NoWatch {
 public:
  explicit Ear(const Setup& setup) : ledger_(setup.contending - 1, readers_of(setup)) {}

  template <class World>
  void sent(const World& /*world*/, NodeId /*from*/, NodeId /*to*/,
            const Optimistic::Message& /*message*/, std::uint32_t /*number*/) {
    ++ledger_.tally().messages;
  }
  template <class World>
  void noticed(const World& world, NodeId node, const Notice& notice) {
    const std::uint32_t client = index(node) - 1;
    if (notice.kind == Notice::Kind::attempt) {
      ++outcome_.attempts;
      return;
    }
    outcome_.torn += notice.torn ? 1 : 0;
    ledger_.entered(client, Mode::shared, tempo::lock::kNoToken, world.now());
    ledger_.left(client);
    idle_.push_back(node);
  }
  template <class World>
  void stepped(const World& world, NodeId node) {
    CHECK(world.machine(node).check() == nullptr);
  }

  Ledger& ledger() { return ledger_; }
  // Who has read and not been asked to read again.
  std::vector<NodeId> take_idle() { return std::exchange(idle_, {}); }
  bool anybody_idle() const { return !idle_.empty(); }
  Outcome outcome(std::uint64_t events) {
    outcome_.tally = ledger_.tally();
    outcome_.events = events;
    return outcome_;
  }

 private:
  Ledger ledger_;
  std::vector<NodeId> idle_;
  Outcome outcome_;
};

}  // namespace

Outcome run_optimistic(const Setup& setup) {
  CHECK(setup.contending >= 2);
  const Rules rules = rules_of_reading(setup);
  Ear ear(setup);
  World<Optimistic, Ear> world(
      {.nodes = setup.contending, .seed = setup.seed, .link = link_of(setup)},
      [&rules](NodeId node, Incarnation) { return Optimistic(node, rules); }, ear);
  Setup stage = setup;
  stage.sites = setup.contending;
  set_the_stage(world, stage, rules.step);
  for (std::uint32_t i = 0; i < setup.contending; ++i) world.start(NodeId{i});

  const auto ask = [&](NodeId node) {
    ear.ledger().asked(index(node) - 1, world.now());
    world.command(node, {.kind = Command::Kind::read});
  };
  for (std::uint32_t i = 1; i < setup.contending; ++i) ask(NodeId{i});
  // Nobody needs so many attempts in a row, but for one that starves.
  const Nanos patience =
      100 * longest(2 * rules.wait() + rules.whole_read() + rules.whole_write(), rules.bounds);
  while (ear.ledger().tally().entries < setup.entries) {
    if (!world.run_until(world.now() + patience, [&] { return ear.anybody_idle(); })) {
      ++ear.ledger().tally().deadlocks;
      break;
    }
    for (const NodeId node : ear.take_idle()) ask(node);
  }
  return ear.outcome(world.events());
}

}  // namespace tempo::sim::lock
