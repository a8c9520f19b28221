#include "lab/papers/machine_rounds.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "machine/fields.h"
#include "protocol/group/capacity_c.h"

namespace tempo::papers {
namespace {

using analysis::Fraction;
using election::CapacityC;
using election::capacity::Command;
using election::capacity::Rules;
using election::capacity::Variant;
using Phase = CapacityC::Phase;

constexpr Nanos kBound = 10ms;  // T
constexpr Nanos kDelay =
    kBound / 2;  // of every copy: an answer to an announcement arrives within T

class NoDraw final : public Draw {
 public:
  std::uint64_t below(std::uint64_t /*limit*/) override {
    CHECK(false);  // algorithm C draws nothing
    return 0;
  }
};

// A copy of a broadcast on its way.
struct Copy {
  BootTime arrives;
  NodeId from = kNobody;
  NodeId to = kNobody;
  CapacityC::Message message;

  static constexpr auto fields(auto list) {
    using M = Copy;
    return list(field<&M::arrives>("arrives"), field<&M::from>("from"), field<&M::to>("to"),
                field<&M::message>("message"));
  }
};

struct World {
  std::vector<CapacityC> machines;
  std::vector<std::uint32_t> announcements;  // of each machine
  std::vector<Copy> copies;                  // in the order of their arrival

  static constexpr auto fields(auto list) {
    using M = World;
    return list(field<&M::machines>("machines"), field<&M::announcements>("announcements"),
                field<&M::copies>("copies"));
  }
};

bool competes(const CapacityC& machine) {
  return machine.phase() == Phase::coll1 || machine.phase() == Phase::coll2 ||
         machine.phase() == Phase::coll3;
}

template <class Input>
void step(World& world, NodeId node, BootTime now, Input input) {
  NoDraw draw;
  Outbox<CapacityC> out;
  Turn<CapacityC> turn{now, draw, out};
  CapacityC& machine = world.machines[index(node)];
  const Phase before = machine.phase();
  input(machine, turn);
  CHECK(machine.check() == nullptr);
  if (machine.phase() == Phase::coll2 && before != Phase::coll2) ++world.announcements[index(node)];
  for (const Output<CapacityC>& output : out) {
    if (output.kind != OutputKind::broadcast) continue;
    for (const CapacityC& other : world.machines)
      if (other.self() != node)
        world.copies.push_back({now + kDelay, node, other.self(), output.message});
  }
}

World beginning(std::uint32_t candidates, const Rules& rules) {
  World world;
  for (std::uint32_t i = 0; i < candidates; ++i) world.machines.emplace_back(NodeId{i}, rules);
  world.announcements.assign(candidates, 0);
  for (std::uint32_t i = 0; i < candidates; ++i) {
    step(world, NodeId{i}, BootTime{}, [&](CapacityC& machine, Turn<CapacityC>& turn) {
      machine.command(turn, Command::offer(i));
    });
    step(world, NodeId{i}, BootTime{},
         [](CapacityC& machine, Turn<CapacityC>& turn) { machine.command(turn, Command::hold()); });
  }
  return world;
}

// All situations at one time with their probabilities. Equal situations are one entry.
class Situations {
 public:
  void add(World world, const Fraction& probability) {
    std::string key = packed(world, BootTime{});
    const auto [entry, is_new] = all_.try_emplace(std::move(key), Entry{{}, Fraction{0}});
    if (is_new) entry->second.world = std::move(world);
    entry->second.probability += probability;
  }
  bool empty() const { return all_.empty(); }
  auto take_first() { return std::move(all_.extract(all_.begin()).mapped()); }

  struct Entry {
    World world;
    Fraction probability;
  };

 private:
  std::map<std::string, Entry> all_;
};

}  // namespace

Fraction machine_rounds(std::uint32_t candidates, const Fraction& loss) {
  CHECK(candidates >= 1 && candidates <= kMaxMachineCandidates);
  CHECK(loss >= Fraction{0} && loss < Fraction{1});
  const Rules rules{
      .members = std::max(candidates, 2U), .bound = kBound, .variant = Variant::as_printed};
  Situations situations;
  situations.add(beginning(candidates, rules), Fraction{1});
  Fraction mean{0};
  // In each round at least one candidate stops, so the situations come to an end.
  while (!situations.empty()) {
    auto [world, probability] = situations.take_first();
    if (std::ranges::none_of(world.machines, competes)) {
      const std::uint32_t most = *std::ranges::max_element(world.announcements);
      mean += probability * Fraction{std::int64_t{most} + 1};
      continue;
    }
    // The next input: a copy before a timer of the same time.
    const auto timer = std::ranges::min_element(
        world.machines, {}, [](const CapacityC& machine) { return machine.timers().first(); });
    if (world.copies.empty() || timer->timers().first() < world.copies.front().arrives) {
      const BootTime now = timer->timers().first();
      step(world, timer->self(), now, [](CapacityC& machine, Turn<CapacityC>& turn) {
        machine.on_timer(turn, machine.timers().first_name());
      });
      situations.add(std::move(world), probability);
      continue;
    }
    const Copy copy = world.copies.front();
    world.copies.erase(world.copies.begin());
    if (loss > Fraction{0}) situations.add(world, probability * loss);
    step(world, copy.to, copy.arrives, [&](CapacityC& machine, Turn<CapacityC>& turn) {
      machine.receive(turn, copy.from, copy.message);
    });
    situations.add(std::move(world), probability * (Fraction{1} - loss));
  }
  return mean;
}

}  // namespace tempo::papers
