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
class ReadCounter : public NoWatch {
 public:
  explicit ReadCounter(const Setup& setup) : ledger_(setup.contending - 1, readers_of(setup)) {}

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
  // Takes the readers that have finished and have no new request.
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
  ReadCounter counter(setup);
  World<Optimistic, ReadCounter> world(
      {.nodes = setup.contending, .seed = setup.seed, .link = link_of(setup)},
      [&rules](NodeId node, Incarnation) { return Optimistic(node, rules); }, counter);
  Setup local = setup;
  local.sites = setup.contending;
  set_clocks_and_delays(world, local, rules.step);
  for (std::uint32_t i = 0; i < setup.contending; ++i) world.start(NodeId{i});

  const auto ask = [&](NodeId node) {
    counter.ledger().asked(index(node) - 1, world.now());
    world.command(node, {.kind = Command::Kind::read});
  };
  for (std::uint32_t i = 1; i < setup.contending; ++i) ask(NodeId{i});
  // Longer than any reader needs unless it starves.
  const Nanos patience =
      100 * longest(2 * rules.wait() + rules.whole_read() + rules.whole_write(), rules.bounds);
  while (counter.ledger().tally().entries < setup.entries) {
    if (!world.run_until(world.now() + patience, [&] { return counter.anybody_idle(); })) {
      ++counter.ledger().tally().deadlocks;
      break;
    }
    for (const NodeId node : counter.take_idle()) ask(node);
  }
  return counter.outcome(world.events());
}

}  // namespace tempo::sim::lock
