// Properties that hold in every state of the machine.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/field_mutator.h"
#include "protocol/election/master_test_harness.h"

namespace tempo::election {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class InEveryState : public ::testing::TestWithParam<State> {};
INSTANTIATE_TEST_SUITE_P(All, InEveryState, ::testing::ValuesIn(kAllStates),
                         [](const auto& row) { return std::string(name_of(row.param)); });

class InEveryFollowing : public ::testing::TestWithParam<State> {};
INSTANTIATE_TEST_SUITE_P(All, InEveryFollowing,
                         ::testing::Values(State::master, State::slave, State::candidate,
                                           State::accept, State::conflict, State::consistency),
                         [](const auto& row) { return std::string(name_of(row.param)); });

// --- acknowledgement ---

// The node acknowledges a reliable message before it acts on it.
TEST_P(InEveryState, AcknowledgesEveryReliableMessageFirst) {
  for (const Kind kind : kReliable) {
    Harness harness;
    bring_to(harness, GetParam());
    Peer sender = master_of(50, 6);
    const Message message = sender.make(kind);
    const auto lines = harness.receive(sender.id, message);
    ASSERT_FALSE(lines.empty()) << name_of(kind);
    EXPECT_EQ(lines.front(), "ack to 6") << name_of(kind);
    EXPECT_EQ(std::ranges::count(lines, "ack to 6"), 1) << name_of(kind);
    const Message& ack = harness.sent(Kind::ack);
    EXPECT_EQ(ack.answers, message.sequence);
    EXPECT_EQ(ack.subject_incarnation, sender.incarnation);
    EXPECT_EQ(ack.incarnation, kIncarnation);
  }
}

TEST_P(InEveryState, AcknowledgesADuplicateAgainAndAppliesItOnce) {
  for (const Kind kind : kReliable) {
    Harness harness;
    bring_to(harness, GetParam());
    Peer sender = master_of(50, 6);
    const Message message = sender.make(kind);
    harness.receive(sender.id, message);
    const State state = harness.state();
    const Epoch followed = harness.machine().followed();
    harness.sleep(10ms);
    std::array<Instant, Timers<Timer>::kCount> before{};
    for (std::size_t i = 0; i < before.size(); ++i)
      before[i] = harness.machine().timers().at(static_cast<TimerId>(i));

    EXPECT_THAT(harness.receive(sender.id, message), ElementsAre("ack to 6")) << name_of(kind);
    EXPECT_EQ(harness.sent(Kind::ack).answers, message.sequence);
    EXPECT_EQ(harness.state(), state) << name_of(kind);
    EXPECT_EQ(harness.machine().followed(), followed);
    for (std::size_t i = 0; i < before.size(); ++i)
      EXPECT_EQ(harness.machine().timers().at(static_cast<TimerId>(i)), before[i])
          << name_of(kind) << " touched " << name_of(static_cast<Timer>(i));
  }
}

// --- corrections of a lower epoch ---

TEST_P(InEveryFollowing, AnswersACorrectionOfALowerEpochWithStaleAndIgnoresIt) {
  for (const Kind kind : {Kind::adjtime, Kind::settime}) {
    Harness harness;
    bring_to(harness, GetParam());
    const Epoch followed = harness.machine().followed();
    ASSERT_EQ(followed.round, 10U);
    Peer late = master_of(9, 6);
    const auto lines = harness.receive(late, kind);
    EXPECT_THAT(lines, Contains("stale to 6"));
    EXPECT_THAT(lines, Not(Contains("ack to 6")));
    EXPECT_THAT(lines, Not(Contains(StartsWith("adjusted"))));
    EXPECT_THAT(lines, Not(Contains(StartsWith("set"))));
    EXPECT_EQ(harness.sent(Kind::stale).epoch, followed);
    EXPECT_EQ(harness.machine().followed(), followed);
  }
}

// --- stopping ---

TEST_P(InEveryState, StopEndsItAndAMasterSendsMasterdown) {
  Harness harness;
  bring_to(harness, GetParam());
  const auto lines = harness.command(Command::stop);
  const bool rules = GetParam() == State::master || GetParam() == State::conflict;
  if (rules) {
    EXPECT_THAT(lines, ElementsAre("masterdown to all", "ended"));
    EXPECT_EQ(harness.sent(Kind::masterdown).subject, kSelf);
    EXPECT_EQ(harness.sent(Kind::masterdown).subject_incarnation, kIncarnation);
  } else {
    EXPECT_THAT(lines, ElementsAre("ended"));
  }
  EXPECT_TRUE(harness.machine().ended());
  EXPECT_EQ(harness.machine().timers().first(), kNever);
  Peer master = master_of(50, 6);
  for (std::size_t i = 0; i < kKinds; ++i)
    EXPECT_THAT(harness.receive(master, static_cast<Kind>(i)), IsEmpty());
  EXPECT_THAT(harness.command(Command::stand), IsEmpty());
  EXPECT_EQ(harness.machine().timers().first(), kNever);
}

// --- inputs without effect ---

TEST_P(InEveryState, IgnoresItsOwnBroadcast) {
  Harness harness;
  bring_to(harness, GetParam());
  const std::string before = harness.packed_now();
  Peer self = master_of(99, 1);
  for (std::size_t i = 0; i < kKinds; ++i) {
    EXPECT_THAT(harness.receive(self, static_cast<Kind>(i)), IsEmpty());
    EXPECT_EQ(harness.packed_now(), before) << name_of(static_cast<Kind>(i));
  }
}

TEST_P(InEveryState, IgnoresATimerThatFiresEarly) {
  Harness harness("lan", 4);
  bring_to(harness, GetParam());
  const std::string before = harness.packed_now();
  for (std::uint8_t i = 0; i < Timers<Timer>::kCount; ++i) {
    EXPECT_THAT(harness.on_timer(static_cast<Timer>(i)), IsEmpty())
        << name_of(static_cast<Timer>(i));
    EXPECT_EQ(harness.packed_now(), before) << name_of(static_cast<Timer>(i));
  }
}

// A forged master's message without a mastership: the node follows no new master and does not
// crash. The test runs it in a child process, because a failed CHECK ends the process.
TEST_P(InEveryState, IgnoresAMastersMessageWithoutAMastership) {
  for (std::size_t i = 0; i < kKinds; ++i) {
    const auto kind = static_cast<Kind>(i);
    if (!masters_message(kind)) continue;
    const auto receive = [&] {
      Harness harness;
      bring_to(harness, GetParam());
      const Epoch followed = harness.machine().followed();
      Peer forger = peer(6);
      harness.receive(forger, kind);
      return harness.machine().followed() == followed ? 0 : 1;
    };
    EXPECT_EXIT(std::_Exit(receive()), ::testing::ExitedWithCode(0), "") << name_of(kind);
  }
}

}  // namespace
}  // namespace tempo::election
