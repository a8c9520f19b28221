#include "lab/baselines/bully.h"

#include <array>
#include <cstddef>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/field_mutator.h"

namespace tempo::election {
namespace {

using bully::Command;
using bully::Kind;
using bully::Message;
using bully::Rules;
using bully::State;
using bully::Timer;
using ::testing::IsEmpty;

constexpr Instant kStart{1s};
constexpr int kMaxTimers = 1000;  // in one run of a group

Rules rules_for(std::uint32_t nodes) {
  Rules rules{.members = {}, .answer_timeout = 4s, .coordinator_timeout = 12s, .silence = {}};
  for (std::uint32_t i = 0; i < nodes; ++i) rules.members.insert(NodeId{i});
  return rules;
}

// Nodes whose messages are delivered before any time passes, in an order drawn from a seed.
class Group {
 public:
  Group(const Rules& rules, std::uint64_t seed) : stream_(seed, 1, 0) {
    rules.members.for_each([&](NodeId node) { nodes_.push_back({BullyElection{node, rules}}); });
    for (Node& node : nodes_) step(node, [](auto& m, auto& turn) { m.start(turn); });
  }

  void command(std::uint32_t id, Command command) {
    step(nodes_[id], [&](auto& m, auto& turn) { m.command(turn, command); });
  }
  void receive(std::uint32_t from, std::uint32_t to, Kind kind) {
    receive(from, to, Message{.kind = kind, .id = NodeId{from}});
  }
  void receive(std::uint32_t from, std::uint32_t to, const Message& message) {
    step(nodes_[to], [&](auto& m, auto& turn) { m.receive(turn, NodeId{from}, message); });
  }
  void on_timer(std::uint32_t id, Timer timer, Instant now) {
    now_ = now;
    step(nodes_[id], [&](auto& m, auto& turn) { m.on_timer(turn, timer_id(timer)); });
  }
  void crash(std::uint32_t id) { nodes_[id].up = false; }

  void deliver_all() {
    while (!under_way_.empty()) deliver_one();
  }
  void deliver_one() {
    const std::size_t place = stream_.below(under_way_.size());
    const Letter letter = under_way_[place];
    under_way_[place] = under_way_.back();
    under_way_.pop_back();
    if (nodes_[letter.to].up) receive(letter.from, letter.to, letter.message);
  }

  // Runs until no message is in transit and no timer runs.
  void run() {
    for (int i = 0; i < kMaxTimers; ++i) {
      deliver_all();
      Node* first = nullptr;
      for (Node& node : nodes_)
        if (node.up &&
            (first == nullptr || node.machine.timers().first() < first->machine.timers().first()))
          first = &node;
      if (first == nullptr || first->machine.timers().first() == kNever) return;
      now_ = first->machine.timers().first();
      step(*first, [](auto& m, auto& turn) { m.on_timer(turn, m.timers().first_name()); });
    }
    FAIL() << "the election does not end";
  }

  const BullyElection& machine(std::uint32_t id) const { return nodes_[id].machine; }
  std::size_t sent() const { return sent_; }
  std::size_t under_way() const { return under_way_.size(); }
  std::size_t sent(Kind kind) const { return sent_of_[static_cast<std::size_t>(kind)]; }

  // Coordinators that the live nodes name: one entry if they agree.
  std::set<NodeId> named() const {
    std::set<NodeId> names;
    for (const Node& node : nodes_)
      if (node.up) names.insert(node.machine.coordinator());
    return names;
  }

 private:
  struct Node {
    BullyElection machine;
    bool up = true;
  };
  struct Letter {
    std::uint32_t from;
    std::uint32_t to;
    Message message;
  };

  template <class Do>
  void step(Node& node, Do todo) {
    out_.clear();
    StreamDraw draw{stream_};
    Turn<BullyElection> turn{now_, draw, out_};
    todo(node.machine, turn);
    for (const Output<BullyElection>& output : out_) {
      ASSERT_EQ(output.kind, OutputKind::send);
      under_way_.push_back({index(node.machine.self()), index(output.to), output.message});
      ++sent_;
      ++sent_of_[static_cast<std::size_t>(output.message.kind)];
    }
    ASSERT_STREQ(node.machine.check(), nullptr);
  }

  Instant now_ = kStart;
  Stream stream_;
  std::vector<Node> nodes_;
  std::vector<Letter> under_way_;
  std::size_t sent_ = 0;
  std::array<std::size_t, 3> sent_of_{};
  Outbox<BullyElection> out_;
};

TEST(Bully, TheHighestOnlyNotifiesTheOthers) {
  const Rules rules = rules_for(7);
  Group group{rules, 1};
  group.command(6, Command::suspect);
  EXPECT_EQ(group.machine(6).state(), State::asking) << "it waits although it asks no node";
  group.run();
  EXPECT_EQ(group.named(), std::set{NodeId{6}});
  EXPECT_EQ(group.sent(), 6U);
}

TEST(Bully, TheLowestMakesAllNodesAsk) {
  const Rules rules = rules_for(7);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Group group{rules, seed};
    group.command(0, Command::suspect);
    group.run();
    ASSERT_EQ(group.named(), std::set{NodeId{6}}) << "seed " << seed;
    ASSERT_EQ(group.sent(Kind::election), 21U) << "seed " << seed;
    ASSERT_EQ(group.sent(Kind::answer), 21U) << "seed " << seed;
    ASSERT_EQ(group.sent(Kind::coordinator), 6U) << "seed " << seed;
  }
}

TEST(Bully, AskingTheDeadCoordinatorTooCostsOneMessageEach) {
  const Rules rules = rules_for(8);
  Group group{rules, 1};
  group.crash(7);
  group.command(0, Command::suspect);
  group.run();
  EXPECT_EQ(group.named(), std::set{NodeId{6}});
  EXPECT_EQ(group.sent(), 48U + 7U);
}

TEST(Bully, ManyMaySuspectAtOnce) {
  const Rules rules = rules_for(9);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Group group{rules, seed};
    Stream chance{seed, 2, 0};
    for (std::uint32_t i = 0; i < 9; ++i)
      if (i == seed % 9 || chance.chance(0.3)) group.command(i, Command::suspect);
    group.run();
    ASSERT_EQ(group.named(), std::set{NodeId{8}}) << "seed " << seed;
  }
}

// The node that answered dies before it has notified any node. The answered nodes wait, begin
// again, and the next highest becomes coordinator.
TEST(Bully, BeginsAgainWhenTheAnsweringNodeDies) {
  const Rules rules = rules_for(6);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Group group{rules, seed};
    group.command(0, Command::suspect);
    group.deliver_all();
    ASSERT_EQ(group.machine(4).state(), State::waiting) << "seed " << seed;
    group.crash(5);
    group.run();
    ASSERT_EQ(group.named(), std::set{NodeId{4}}) << "seed " << seed;
  }
}

TEST(Bully, ElectsTheHighestLiveNodeDespiteCrashes) {
  const Rules rules = rules_for(8);
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Group group{rules, seed};
    Stream chance{seed, 2, 0};
    group.command(0, Command::suspect);
    std::uint32_t highest = 7;
    for (std::uint64_t i = chance.below(60); i > 0 && group.under_way() > 0; --i)
      group.deliver_one();
    for (std::uint64_t deaths = chance.below(5); deaths > 0; --deaths) group.crash(highest--);
    group.run();
    ASSERT_EQ(group.named(), std::set{NodeId{highest}}) << "seed " << seed;
  }
}

TEST(Bully, AnAnswerEndsTheAskingItsAbsenceElects) {
  const Rules rules = rules_for(3);
  Group group{rules, 1};
  group.command(1, Command::suspect);
  group.on_timer(1, Timer::answer, kStart + 3s);
  EXPECT_EQ(group.machine(1).state(), State::asking) << "the timer is not due";
  group.receive(0, 1, Kind::answer);
  EXPECT_EQ(group.machine(1).state(), State::asking) << "an answer of a lower node does not count";
  group.receive(2, 1, Kind::answer);
  EXPECT_EQ(group.machine(1).state(), State::waiting);
  group.on_timer(1, Timer::answer, kStart + 4s);
  EXPECT_EQ(group.machine(1).state(), State::waiting) << "the answer timer is stopped";
  group.on_timer(1, Timer::coordinator, kStart + 16s);
  EXPECT_EQ(group.machine(1).state(), State::asking);
  group.on_timer(1, Timer::answer, kStart + 20s);
  EXPECT_EQ(group.machine(1).state(), State::coordinator);
}

TEST(Bully, ACoordinatorAnswersQuestionsAsCoordinator) {
  const Rules rules = rules_for(3);
  Group group{rules, 1};
  group.command(2, Command::suspect);
  group.run();
  const std::size_t before = group.sent(Kind::coordinator);
  group.command(0, Command::suspect);
  group.run();
  EXPECT_EQ(group.named(), std::set{NodeId{2}});
  EXPECT_EQ(group.sent(Kind::coordinator), before + 2) << "to both nodes that ask";
}

TEST(Bully, AHigherNodeReplacesALowerCoordinator) {
  const Rules rules = rules_for(3);
  Group group{rules, 1};
  group.receive(1, 0, Kind::coordinator);
  EXPECT_EQ(group.machine(0).coordinator(), NodeId{1});
  group.receive(1, 2, Kind::coordinator);
  EXPECT_EQ(group.machine(2).state(), State::asking);
  group.run();
  EXPECT_EQ(group.named(), std::set{NodeId{2}});
  group.receive(1, 2, Kind::coordinator);
  EXPECT_EQ(group.machine(2).state(), State::coordinator);
  EXPECT_EQ(group.under_way(), 1U) << "it receives a coordinator message";
}

TEST(Bully, AcceptsOnlyMembersInTheirOwnName) {
  const Rules rules = rules_for(3);
  Group group{rules, 1};
  group.receive(0, 1, Message{.kind = Kind::coordinator, .id = NodeId{2}});
  group.receive(2, 1, Message{.kind = Kind::election, .id = NodeId{0}});
  group.receive(9, 1, Kind::coordinator);
  group.receive(1, 1, Kind::coordinator);
  group.receive(2, 1, Kind::election);  // a question of a higher node is ignored
  EXPECT_EQ(group.machine(1).state(), State::following);
  EXPECT_EQ(group.machine(1).coordinator(), kNobody);
  EXPECT_EQ(group.sent(), 0U);
}

TEST(Bully, SuspectsAfterSilence) {
  Rules rules = rules_for(2);
  rules.silence = 60s;
  Group group{rules, 1};
  EXPECT_EQ(group.machine(0).timers().first(), kStart + 60s);
  group.on_timer(0, Timer::silence, kStart + 59s);
  EXPECT_EQ(group.machine(0).state(), State::following);
  group.command(0, Command::alive);
  EXPECT_EQ(group.machine(0).timers().first(), kStart + 119s);
  group.on_timer(1, Timer::silence, kStart + 60s);
  EXPECT_EQ(group.machine(1).state(), State::asking);
  group.on_timer(1, Timer::answer, kStart + 64s);
  group.deliver_all();
  EXPECT_EQ(group.machine(0).coordinator(), NodeId{1});
  EXPECT_EQ(group.machine(0).timers().first(), kStart + 124s) << "it watches the new coordinator";
  EXPECT_EQ(group.machine(1).timers().first(), kNever);
}

// Whatever arrives, in any order: the invariants hold, and a node in an election has a running
// timer, so that the election ends.
TEST(Bully, NoiseNeverLeavesAnElectionWithoutATimer) {
  const Rules rules = rules_for(5);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Group group{rules, seed};
    Stream noise{seed, 3, 0};
    for (int i = 0; i < 50; ++i) {
      const auto from = static_cast<std::uint32_t>(noise.below(6));
      switch (noise.below(5)) {
        case 0:
          group.command(2, noise.chance(0.5) ? Command::suspect : Command::alive);
          break;
        case 1:
          group.on_timer(2, static_cast<Timer>(noise.below(3)), kStart + i * 3s);
          break;
        default:
          group.receive(from, 2, static_cast<Kind>(noise.below(3)));
          break;
      }
      const State state = group.machine(2).state();
      const bool electing = state == State::asking || state == State::waiting;
      ASSERT_EQ(electing, group.machine(2).timers().first() != kNever) << "seed " << seed;
    }
  }
}

TEST(Bully, ListsAllItsFields) {
  const Rules rules = rules_for(3);
  Group group{rules, 1};
  group.command(1, Command::suspect);
  EXPECT_THAT(unnoticed_writes(group.machine(1), kStart), IsEmpty());
  EXPECT_THAT(unnoticed_writes(Message{}, kStart), IsEmpty());
  EXPECT_EQ(
      printed(group.machine(1), kStart),
      "self=1 state=asking coordinator=-1 timers{timer=never timer=+4000000000ns timer=never}");
}

TEST(Bully, EverythingHasAName) {
  EXPECT_EQ(name_of(Message{.kind = Kind::election, .id = NodeId{1}}), "election");
  EXPECT_EQ(name_of(Kind::answer), "answer");
  EXPECT_EQ(name_of(Kind::coordinator), "coordinator");
  EXPECT_EQ(name_of(State::following), "following");
  EXPECT_EQ(name_of(State::asking), "asking");
  EXPECT_EQ(name_of(State::waiting), "waiting");
  EXPECT_EQ(name_of(State::coordinator), "coordinator");
  EXPECT_EQ(name_of(Timer::silence), "silence");
  EXPECT_EQ(name_of(Timer::answer), "answer");
  EXPECT_EQ(name_of(Timer::coordinator), "coordinator");
}

}  // namespace
}  // namespace tempo::election
