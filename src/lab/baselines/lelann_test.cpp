#include "lab/baselines/lelann.h"

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/field_mutator.h"

namespace tempo::election {
namespace {

using lelann::Command;
using lelann::Message;
using lelann::Rules;
using lelann::State;
using lelann::Timer;
using ::testing::IsEmpty;

constexpr Instant kStart{1s};

Rules ring_of(const std::vector<std::uint32_t>& nodes) {
  Rules rules;
  for (const std::uint32_t node : nodes) rules.ring.insert(NodeId{node});
  return rules;
}

// A ring whose messages are delivered one by one in an order drawn from a seed.
class Ring {
 public:
  Ring(const Rules& rules, std::uint64_t seed) : stream_(seed, 1, 0) {
    rules.ring.for_each([&](NodeId node) { machines_.emplace_back(node, rules); });
    for (LeLannElection& machine : machines_)
      step(machine, [](auto& m, auto& turn) { m.start(turn); });
  }

  void command(NodeId id, Command command) {
    step(machine(id), [&](auto& m, auto& turn) { m.command(turn, command); });
  }
  void wake_all(Instant now) {
    now_ = now;
    for (LeLannElection& machine : machines_)
      step(machine, [](auto& m, auto& turn) { m.on_timer(turn, timer_id(Timer::silence)); });
  }
  void receive(NodeId from, NodeId to, NodeId id) {
    step(machine(to), [&](auto& m, auto& turn) { m.receive(turn, from, {.id = id}); });
  }

  // Delivers until no message is in transit; with duplicates, each as often as drawn.
  void deliver_all(bool duplicates = false) {
    while (!under_way_.empty()) {
      const std::size_t place = stream_.below(under_way_.size());
      const Letter letter = under_way_[place];
      if (!duplicates || stream_.chance(0.7)) {
        under_way_[place] = under_way_.back();
        under_way_.pop_back();
      }
      receive(letter.from, letter.to, letter.id);
    }
  }

  LeLannElection& machine(NodeId id) {
    for (LeLannElection& machine : machines_)
      if (machine.self() == id) return machine;
    CHECK(false);
    return machines_.front();
  }
  const std::vector<LeLannElection>& machines() const { return machines_; }
  std::size_t sent() const { return sent_; }
  std::size_t under_way() const { return under_way_.size(); }

  // Coordinators that the nodes name: one entry if they agree.
  std::set<NodeId> named() const {
    std::set<NodeId> names;
    for (const LeLannElection& machine : machines_) names.insert(machine.coordinator());
    return names;
  }

 private:
  struct Letter {
    NodeId from;
    NodeId to;
    NodeId id;
  };

  template <class Do>
  void step(LeLannElection& machine, Do todo) {
    out_.clear();
    StreamDraw draw{stream_};
    Turn<LeLannElection> turn{now_, draw, out_};
    todo(machine, turn);
    for (const Output<LeLannElection>& output : out_) {
      ASSERT_EQ(output.kind, OutputKind::send);
      under_way_.push_back({machine.self(), output.to, output.message.id});
      ++sent_;
    }
    ASSERT_STREQ(machine.check(), nullptr);
  }

  Instant now_ = kStart;
  Stream stream_;
  std::vector<LeLannElection> machines_;
  std::vector<Letter> under_way_;
  std::size_t sent_ = 0;
  Outbox<LeLannElection> out_;
};

const std::vector<std::uint32_t> kFive{1, 2, 5, 64, 130};

TEST(LeLann, ElectsTheHighestWithNSquaredMessages) {
  const Rules rules = ring_of(kFive);
  Ring ring{rules, 1};
  for (const std::uint32_t node : kFive) ring.command(NodeId{node}, Command::suspect);
  ring.deliver_all();
  EXPECT_EQ(ring.named(), std::set{NodeId{130}});
  EXPECT_EQ(ring.sent(), 25U);
  EXPECT_EQ(ring.machine(NodeId{130}).state(), State::coordinator);
  EXPECT_EQ(ring.machine(NodeId{5}).state(), State::follower);
}

TEST(LeLann, OneSuspicionIsEnoughAndCostsTheSame) {
  const Rules rules = ring_of(kFive);
  for (const std::uint32_t node : kFive) {
    Ring ring{rules, node};
    ring.command(NodeId{node}, Command::suspect);
    ring.deliver_all();
    EXPECT_EQ(ring.named(), std::set{NodeId{130}});
    EXPECT_EQ(ring.sent(), 25U);
  }
}

TEST(LeLann, NeedsNoOrderOnTheLinks) {
  const Rules rules = ring_of({0, 1, 2, 3, 4, 5, 6, 7, 8});
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Ring ring{rules, seed};
    Stream chance{seed, 2, 0};
    ring.command(NodeId{static_cast<std::uint32_t>(chance.below(9))}, Command::suspect);
    for (std::uint32_t i = 0; i < 9; ++i)
      if (chance.chance(0.5)) ring.command(NodeId{i}, Command::suspect);
    ring.deliver_all();
    ASSERT_EQ(ring.named(), std::set{NodeId{8}}) << "seed " << seed;
    ASSERT_EQ(ring.sent(), 81U) << "seed " << seed;
  }
}

TEST(LeLann, DoesNotDecideOnItsOwnIdAlone) {
  const Rules rules = ring_of({0, 1, 2});
  Ring ring{rules, 1};
  ring.command(NodeId{0}, Command::suspect);
  ring.receive(NodeId{2}, NodeId{0}, NodeId{0});
  EXPECT_EQ(ring.machine(NodeId{0}).state(), State::electing);
  ring.receive(NodeId{2}, NodeId{0}, NodeId{1});
  EXPECT_EQ(ring.machine(NodeId{0}).coordinator(), kNobody);
  ring.receive(NodeId{2}, NodeId{0}, NodeId{2});
  EXPECT_EQ(ring.machine(NodeId{0}).coordinator(), NodeId{2});
}

TEST(LeLann, ForwardsADuplicateOnlyOnce) {
  const Rules rules = ring_of({0, 1, 2, 3, 4});
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Ring ring{rules, seed};
    ring.command(NodeId{3}, Command::suspect);
    ring.deliver_all(true);
    ASSERT_EQ(ring.named(), std::set{NodeId{4}}) << "seed " << seed;
    ASSERT_EQ(ring.sent(), 25U) << "seed " << seed;
  }
}

TEST(LeLann, AcceptsIdsOnlyFromThePreviousNodeAndOfTheRing) {
  const Rules rules = ring_of({0, 1, 2});
  Ring ring{rules, 1};
  ring.receive(NodeId{0}, NodeId{2}, NodeId{1});   // not the previous node
  ring.receive(NodeId{77}, NodeId{2}, NodeId{1});  // unknown
  ring.receive(NodeId{1}, NodeId{2}, NodeId{3});   // the dead coordinator
  ring.receive(NodeId{1}, NodeId{2}, kNobody);
  EXPECT_EQ(ring.machine(NodeId{2}).state(), State::watching);
  EXPECT_EQ(ring.under_way(), 0U);
}

TEST(LeLann, TwoNodesForwardEachOthersId) {
  const Rules rules = ring_of({3, 9});
  Ring ring{rules, 1};
  ring.command(NodeId{3}, Command::suspect);
  ring.deliver_all();
  EXPECT_EQ(ring.named(), std::set{NodeId{9}});
  EXPECT_EQ(ring.sent(), 4U);
}

TEST(LeLann, ASingleNodeIsCoordinatorAtOnce) {
  const Rules rules = ring_of({4});
  Ring ring{rules, 1};
  ring.command(NodeId{4}, Command::suspect);
  EXPECT_EQ(ring.machine(NodeId{4}).state(), State::coordinator);
  EXPECT_EQ(ring.sent(), 0U);
}

TEST(LeLann, SuspectsAfterSilence) {
  Rules rules = ring_of({0, 1, 2});
  rules.silence = 10s;
  Ring ring{rules, 1};
  EXPECT_EQ(ring.machine(NodeId{1}).timers().first(), kStart + 10s);
  ring.wake_all(kStart + 9s);
  EXPECT_EQ(ring.sent(), 0U);
  ring.command(NodeId{1}, Command::alive);
  ring.wake_all(kStart + 10s);
  EXPECT_EQ(ring.sent(), 2U);
  EXPECT_EQ(ring.machine(NodeId{1}).state(), State::watching);
  EXPECT_EQ(ring.machine(NodeId{1}).timers().first(), kStart + 19s);
  ring.deliver_all();
  EXPECT_EQ(ring.named(), std::set{NodeId{2}});
  EXPECT_EQ(ring.sent(), 9U);
  ring.wake_all(kStart + 60s);
  ring.command(NodeId{0}, Command::suspect);
  EXPECT_EQ(ring.sent(), 9U) << "one election for each machine";
}

TEST(LeLann, ListsAllItsFields) {
  const Rules rules = ring_of({0, 1, 2});
  Ring ring{rules, 1};
  ring.command(NodeId{0}, Command::suspect);
  ring.receive(NodeId{2}, NodeId{0}, NodeId{1});
  EXPECT_THAT(unnoticed_writes(ring.machine(NodeId{0}), kStart), IsEmpty());
  EXPECT_THAT(unnoticed_writes(Message{}, kStart), IsEmpty());
  EXPECT_EQ(
      printed(ring.machine(NodeId{0}), kStart),
      "self=0 before=2 after=1 state=electing seen=1 seen=1 coordinator=-1 timers{timer=never}");
}

TEST(LeLann, EverythingHasAName) {
  EXPECT_EQ(name_of(Message{.id = NodeId{1}}), "token");
  EXPECT_EQ(name_of(State::watching), "watching");
  EXPECT_EQ(name_of(State::follower), "follower");
  EXPECT_EQ(name_of(State::coordinator), "coordinator");
  EXPECT_EQ(name_of(Timer::silence), "silence");
}

}  // namespace
}  // namespace tempo::election
