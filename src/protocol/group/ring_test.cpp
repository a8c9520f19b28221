// Both ring elections, step by step: links, field lists and tables.
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "machine/field_mutator.h"
#include "machine/machine_harness.h"
#include "protocol/group/ring_anonymous.h"
#include "protocol/group/ring_equitable.h"

namespace tempo::election {
namespace {

using ring::Kind;
using ring::Message;

constexpr BootTime kStart{1s};
constexpr NodeId kZero{0}, kOne{1}, kTwo{2};

// One station. Each input returns the messages that it sends.
template <class M>
class Harness : public MachineHarness<M> {
 public:
  using Base = MachineHarness<M>;

  Harness(NodeId self, Incarnation incarnation, const auto& rules) {
    this->make(self, incarnation, rules);
  }

  std::vector<Message> receive(NodeId from, const Message& message) {
    Base::receive(from, message);
    return sent();
  }
  std::vector<Message> command(typename M::Command command = {}) {
    Base::command(command);
    return sent();
  }
  std::vector<Message> wake() {
    Base::wake();
    return sent();
  }

 private:
  std::vector<Message> sent() const {
    std::vector<Message> messages;
    for (const auto& output : Base::outputs())
      if (output.kind == OutputKind::send) messages.push_back(output.message);
    return messages;
  }
};

ring::EquitableRules plain(std::uint32_t stations) {
  return {.link = {.stations = stations}, .range = 4};
}
ring::EquitableRules careful(std::uint32_t stations) {
  ring::EquitableRules rules = plain(stations);
  rules.link.courier = {.interval = 10ms, .sends = 3};
  rules.link.successors = 2;
  return rules;
}

TEST(RingElection, StaysActiveIfItsPriorityIsNotLarger) {
  const ring::EquitableRules rules = plain(3);
  for (const std::uint32_t own : {1U, 2U, 3U}) {
    Harness<RingElection> harness{kOne, Incarnation{}, rules};
    harness.draw().set_value(own - 1);
    const std::vector<Message> first = harness.command();
    ASSERT_EQ(first.size(), 1U);
    EXPECT_EQ(first[0].priority, own);
    EXPECT_EQ(first[0].id, kOne);
    const auto next =
        harness.receive(kZero, {.kind = Kind::priority, .number = 1, .id = kZero, .priority = 2});
    EXPECT_EQ(next.size(), own <= 2 ? 1U : 0U) << own;
    EXPECT_EQ(harness.machine().state(), own <= 2 ? ring::State::active : ring::State::relay);
  }
}

TEST(RingElection, BreaksATieByIdWithThatMethod) {
  ring::EquitableRules rules = plain(3);
  rules.method = ring::Method::ties_by_id;
  for (const NodeId other : {kZero, kTwo}) {
    Harness<RingElection> harness{kOne, Incarnation{}, rules};
    harness.command();
    harness.receive(kZero, {.kind = Kind::priority, .number = 1, .id = other, .priority = 1});
    EXPECT_EQ(harness.machine().state(), other == kTwo ? ring::State::active : ring::State::relay);
  }
}

TEST(RingElection, LeadsWhenItReceivesItsOwnPriority) {
  const ring::EquitableRules rules = plain(3);
  Harness<RingElection> harness{kOne, Incarnation{}, rules};
  harness.command();
  const auto sent =
      harness.receive(kZero, {.kind = Kind::priority, .number = 1, .id = kOne, .priority = 1});
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].kind, Kind::announcement);
  EXPECT_EQ(harness.machine().leader(), kOne);
  EXPECT_TRUE(harness.receive(kZero, sent[0]).empty()) << "its own announcement is not forwarded";
}

TEST(RingElection, JoinsAndRelaysAndLearns) {
  const ring::EquitableRules rules = plain(3);
  Harness<RingElection> harness{kOne, Incarnation{}, rules};
  harness.draw().set_value(3);  // draws 4
  // A station that joins sends its own priority before it handles the received one.
  const auto joined =
      harness.receive(kZero, {.kind = Kind::priority, .number = 1, .id = kZero, .priority = 1});
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_EQ(joined[0].id, kOne);
  EXPECT_EQ(harness.machine().state(), ring::State::relay);
  const Message foreign{.kind = Kind::priority, .number = 1, .id = kTwo, .priority = 3};
  const auto relayed = harness.receive(kZero, foreign);
  ASSERT_EQ(relayed.size(), 1U);
  EXPECT_EQ(relayed[0].id, kTwo);
  const auto told = harness.receive(kZero, {.kind = Kind::announcement, .number = 1, .id = kZero});
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(harness.machine().leader(), kZero);
  EXPECT_EQ(harness.machine().state(), ring::State::follower);
}

TEST(RingElection, WakesOnce) {
  const ring::EquitableRules rules = plain(3);
  Harness<RingElection> harness{kOne, Incarnation{}, rules};
  EXPECT_EQ(harness.command(ring::Command::wake).size(), 1U);
  EXPECT_TRUE(harness.command(ring::Command::wake).empty());
}

TEST(RingElection, DropsLowerNumbersAndJoinsHigherOnes) {
  const ring::EquitableRules rules = plain(3);
  Harness<RingElection> harness{kOne, Incarnation{}, rules};
  harness.command();
  harness.command();
  EXPECT_EQ(harness.machine().number(), 2U);
  EXPECT_TRUE(
      harness.receive(kZero, {.kind = Kind::priority, .number = 1, .id = kTwo, .priority = 1})
          .empty());
  EXPECT_EQ(harness.machine().state(), ring::State::active);
  EXPECT_TRUE(
      harness.receive(kZero, {.kind = Kind::announcement, .number = 1, .id = kTwo}).empty());
  harness.receive(kZero, {.kind = Kind::announcement, .number = 7, .id = kTwo});
  EXPECT_EQ(harness.machine().number(), 7U);
  EXPECT_EQ(harness.machine().leader(), kTwo);
}

TEST(RingLink, RestoresTheOrderAndDropsCopies) {
  const ring::EquitableRules rules = careful(3);
  Harness<RingElection> harness{kOne, Incarnation{5}, rules};
  const auto message = [](std::uint32_t sequence, NodeId id) {
    return Message{.kind = Kind::priority,
                   .life = Incarnation{9},
                   .sequence = Sequence{sequence},
                   .after = Sequence{sequence - 1},
                   .number = 1,
                   .id = id,
                   .priority = 1};
  };
  harness.draw().set_value(3);
  const auto early = harness.receive(kZero, message(2, kTwo));
  ASSERT_EQ(early.size(), 1U) << "acknowledged and held back";
  EXPECT_EQ(early[0].kind, Kind::ack);
  EXPECT_EQ(early[0].answers, Sequence{2});
  const auto both = harness.receive(kZero, message(1, kZero));
  // Ack, its own priority; the first message ends its candidacy, the second is forwarded.
  ASSERT_EQ(both.size(), 3U);
  EXPECT_EQ(both[2].id, kTwo);
  EXPECT_EQ(both[2].after, both[1].sequence);
  const auto copy = harness.receive(kZero, message(2, kTwo));
  ASSERT_EQ(copy.size(), 1U);
  EXPECT_EQ(copy[0].kind, Kind::ack);
}

TEST(RingLink, RepeatsThenSkipsADeadStation) {
  const ring::EquitableRules rules = careful(4);
  Harness<RingElection> harness{kZero, Incarnation{5}, rules};
  const auto first = harness.command();
  for (int i = 0; i < 2; ++i) {
    const auto again = harness.wake();
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].sequence, first[0].sequence);
  }
  const auto restarted = harness.wake();
  ASSERT_EQ(restarted.size(), 1U);
  EXPECT_EQ(restarted[0].number, 2U);
  EXPECT_EQ(restarted[0].after, kNoSequence) << "the first message on a new link";
  EXPECT_EQ(harness.machine().link().next(), kTwo);
  for (int i = 0; i < 3; ++i) harness.wake();
  EXPECT_TRUE(harness.machine().link().stranded()) << "it knows only two successors";
}

TEST(RingLink, DetectsADeadNeighbourWithoutTraffic) {
  const ring::EquitableRules rules = careful(4);
  Harness<RingElection> harness{kZero, Incarnation{5}, rules};
  const auto sent = harness.command();
  harness.receive(kOne, {.kind = Kind::ack, .answers = sent[0].sequence});
  const auto probe = harness.wake();
  ASSERT_EQ(probe.size(), 1U);
  EXPECT_EQ(probe[0].kind, Kind::probe);
  for (int i = 0; i < 3; ++i) harness.wake();
  EXPECT_EQ(harness.machine().number(), 2U);
  EXPECT_EQ(harness.machine().link().next(), kTwo);
}

TEST(RingLink, NeedsNoNetworkForOneStation) {
  for (const ring::EquitableRules& rules : {plain(1), careful(1)}) {
    Harness<RingElection> harness{kZero, Incarnation{5}, rules};
    EXPECT_TRUE(harness.command().empty());
    // On a real network a station sends to itself at a pace: a lone station that relayed a message
    // of a dead one sent it to itself without end at one instant.
    const Nanos pace = rules.link.courier ? rules.link.courier->interval / 64 : Nanos{0};
    EXPECT_EQ(harness.machine().timers().first(), kStart + pace);
    EXPECT_TRUE(harness.wake().empty());
    EXPECT_EQ(harness.machine().leader(), kZero);
    for (int i = 0; i < 3 && harness.machine().timers().first() != kNever; ++i) harness.wake();
    EXPECT_EQ(harness.machine().timers().first(), kNever) << "it has no neighbour to probe";
    EXPECT_EQ(harness.machine().number(), 1U);
  }
}

// A follower whose neighbour dies forwards the result again; only a dead leader needs another
// election.
TEST(RingElection, ForwardsTheResultPastADeadStation) {
  for (const NodeId leader : {kOne, kTwo}) {
    const ring::EquitableRules rules = careful(4);
    Harness<RingElection> harness{kZero, Incarnation{5}, rules};
    harness.receive(NodeId{3}, {.kind = Kind::announcement,
                                .life = Incarnation{1},
                                .sequence = Sequence{1},
                                .number = 1,
                                .id = leader});
    ASSERT_EQ(harness.machine().leader(), leader);
    harness.wake();
    harness.wake();
    const auto after = harness.wake();
    ASSERT_EQ(after.size(), 1U);
    EXPECT_EQ(after[0].kind, leader == kTwo ? Kind::announcement : Kind::priority);
    EXPECT_EQ(harness.machine().number(), leader == kTwo ? 1U : 2U);
  }
}

TEST(RingElection, ListsAllItsFields) {
  const ring::EquitableRules rules = careful(4);
  Harness<RingElection> harness{kZero, Incarnation{5}, rules};
  harness.command();
  harness.receive(NodeId{3}, {.kind = Kind::priority,
                              .life = Incarnation{1},
                              .sequence = Sequence{2},
                              .after = Sequence{1},
                              .number = 1,
                              .id = kTwo});
  EXPECT_EQ(unnoticed_writes(harness.machine(), kStart), std::vector<std::string>{});
  EXPECT_EQ(unnoticed_writes(Message{}, kStart), std::vector<std::string>{});
}

TEST(AnonymousRingElection, ListsAllItsFields) {
  anonymous::Rules rules{.link = {.stations = 4}};
  rules.link.courier = {.interval = 10ms, .sends = 3};
  Harness<AnonymousRingElection> harness{kZero, Incarnation{5}, rules};
  harness.command();
  EXPECT_EQ(unnoticed_writes(harness.machine(), kStart), std::vector<std::string>{});
}

TEST(AnonymousRingElection, CountsItsLoopsInSteps) {
  const anonymous::Rules rules{
      .link = {.stations = 5}, .step_min = 30us, .step_max = 100us, .delay_max = 1ms};
  EXPECT_EQ(rules.loop(), 5 * 37);         // 1100 / 30, rounded up
  EXPECT_EQ(rules.patience(), 185 + 617);  // 185 * 100 / 30, rounded up
}

// The printed wait omits the step that each station needs to forward a message.
TEST(AnonymousRingElection, WaitsOneLoopAtTheEnd) {
  anonymous::Rules rules{
      .link = {.stations = 2}, .step_min = 3ns, .step_max = 4ns, .delay_max = 2ns};
  EXPECT_EQ(rules.loop(), 4);
  EXPECT_EQ(rules.last_wait(), 4);
  rules.printed_last_wait = true;
  EXPECT_EQ(rules.last_wait(), 2);
}

TEST(AnonymousRingElection, GoesThroughItsStagesWithOneClaim) {
  const anonymous::Rules rules{.link = {.stations = 3}, .stages = 3};
  Harness<AnonymousRingElection> harness{kZero, Incarnation{}, rules};
  EXPECT_EQ(harness.command()[0].kind, Kind::wake_up);
  EXPECT_EQ(harness.machine().state(), anonymous::State::awake_one);
  EXPECT_EQ(harness.wake()[0].kind, Kind::claim);
  EXPECT_TRUE(harness.receive(kTwo, {.kind = Kind::claim, .number = 1}).empty());
  EXPECT_EQ(harness.wake()[0].kind, Kind::claim) << "forwarding to forwarding";
  harness.receive(kTwo, {.kind = Kind::claim, .number = 1});
  harness.draw().set_value(1);
  EXPECT_TRUE(harness.wake().empty()) << "forwarding to holding";
  EXPECT_EQ(harness.machine().state(), anonymous::State::holding);
  EXPECT_TRUE(harness.wake().empty());
  EXPECT_EQ(harness.machine().state(), anonymous::State::waiting);
  EXPECT_EQ(harness.wake()[0].kind, Kind::termination);
  EXPECT_EQ(harness.machine().state(), anonymous::State::elected);
}

TEST(AnonymousRingElection, NoticesARival) {
  const anonymous::Rules rules{.link = {.stations = 3}, .stages = 3};
  const auto forwarding = [&] {
    Harness<AnonymousRingElection> harness{kZero, Incarnation{}, rules};
    harness.command();
    harness.wake();
    return harness;
  };
  const Message claim{.kind = Kind::claim, .number = 1};
  Harness<AnonymousRingElection> early{kZero, Incarnation{}, rules};
  early.command();
  EXPECT_EQ(early.receive(kTwo, claim)[0].kind, Kind::next_time) << "before it is a candidate";
  auto second = forwarding();
  second.receive(kTwo, claim);
  EXPECT_EQ(second.receive(kTwo, claim)[0].kind, Kind::next_time) << "two while forwarding";
  auto none = forwarding();
  EXPECT_EQ(none.wake()[0].kind, Kind::next_time) << "no claim by the end of a stage";
  auto held = forwarding();
  held.receive(kTwo, claim);
  held.draw().set_value(1);
  held.wake();
  EXPECT_EQ(held.receive(kTwo, claim)[0].kind, Kind::next_time) << "one while holding";
  EXPECT_EQ(held.machine().state(), anonymous::State::next_timer);
  EXPECT_TRUE(held.receive(kTwo, claim).empty()) << "claims of the old phase are dropped";
  const auto next = held.receive(kTwo, {.kind = Kind::next_time, .number = 1});
  ASSERT_EQ(next.size(), 1U) << "it has already sent its own";
  EXPECT_EQ(next[0].kind, Kind::wake_up);
}

TEST(AnonymousRingElection, ForwardsTheMarkerAndTheTerminationOnce) {
  const anonymous::Rules rules{.link = {.stations = 3}, .stages = 3};
  Harness<AnonymousRingElection> harness{kZero, Incarnation{}, rules};
  harness.draw().set_value(1);
  harness.receive(kTwo, {.kind = Kind::wake_up, .number = 1});
  EXPECT_EQ(harness.machine().state(), anonymous::State::awake_other);
  EXPECT_EQ(harness.receive(kTwo, {.kind = Kind::claim, .number = 1})[0].kind, Kind::claim);
  EXPECT_EQ(harness.machine().timers().first(), kNever)
      << "after a claim it waits for the termination";
  const auto marker = harness.receive(kTwo, {.kind = Kind::next_time, .number = 1});
  ASSERT_EQ(marker.size(), 2U);
  EXPECT_EQ(marker[0].kind, Kind::next_time);
  EXPECT_EQ(marker[1].kind, Kind::wake_up);
  const Message end{.kind = Kind::termination, .number = 1};
  EXPECT_EQ(harness.receive(kTwo, end).size(), 1U);
  EXPECT_TRUE(harness.receive(kTwo, end).empty());
  EXPECT_EQ(harness.machine().state(), anonymous::State::defeated);
}

TEST(AnonymousRingElection, HasNamesForEverything) {
  std::set<std::string_view> names;
  for (std::uint8_t i = 0; i < std::to_underlying(anonymous::State::count); ++i)
    names.insert(name_of(anonymous::State{i}));
  EXPECT_EQ(names.size(), std::size_t{std::to_underlying(anonymous::State::count)});
  names.clear();
  for (std::uint8_t i = 0; i < std::to_underlying(anonymous::Event::count); ++i)
    names.insert(name_of(anonymous::Event{i}));
  EXPECT_EQ(names.size(), std::size_t{std::to_underlying(anonymous::Event::count)});
}

}  // namespace
}  // namespace tempo::election
