// Acknowledgements, repeats of calls, answers to Elections, and messages that are ignored.
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/election/master_test_harness.h"

namespace tempo::election {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A sender that restarts counts from 1 again; its first messages are not duplicates.
TEST(Acknowledgement, AcceptsTheFirstMessagesOfARestartedSender) {
  Harness harness;
  bring_to(harness, State::slave);
  Peer master = master_of(20, 6);
  EXPECT_THAT(harness.receive(master, Kind::adjtime), ElementsAre("ack to 6", "adjusted by 6"));
  Peer again = master;
  again.incarnation = Incarnation{999};
  again.epoch = {21, again.id, again.incarnation};
  again.last = 0;
  const Message first = again.make(Kind::adjtime);
  ASSERT_EQ(first.sequence, Sequence{1});
  EXPECT_THAT(harness.receive(again.id, first), ElementsAre("ack to 6", "adjusted by 6"));
  EXPECT_THAT(harness.receive(again.id, first), ElementsAre("ack to 6"));
}

TEST(Acknowledgement, OfAnotherIncarnationIsIgnored) {
  Harness harness;
  bring_to(harness, State::accept);
  Peer candidate = peer(4);
  candidate.last = 100;
  Message ack;
  // The Accept is the node's third numbered message, after Masterreq and Slaveup.
  ack.answers = Sequence{3};
  ack.subject_incarnation = Incarnation{76};
  harness.receive(candidate, Kind::ack, ack);
  EXPECT_TRUE(harness.runs(Timer::retransmit));
  EXPECT_THAT(harness.run_out(Timer::retransmit), ElementsAre("accept to 4"));
  EXPECT_EQ(harness.sent(Kind::accept).sequence, Sequence{3});

  ack.subject_incarnation = kIncarnation;
  ack.answers = Sequence{2};
  harness.receive(candidate, Kind::ack, ack);
  EXPECT_TRUE(harness.runs(Timer::retransmit)) << "another message was acknowledged";
  Peer other = peer(5);
  ack.answers = Sequence{3};
  harness.receive(other, Kind::ack, ack);
  EXPECT_TRUE(harness.runs(Timer::retransmit)) << "another node acknowledged it";
  harness.receive(candidate, Kind::ack, ack);
  EXPECT_FALSE(harness.runs(Timer::retransmit));
}

// In the same round, a smaller node id or an earlier incarnation makes an epoch lower.
TEST(LowerEpoch, IsComparedByRoundThenNodeThenIncarnation) {
  Harness harness;
  bring_to(harness, State::slave);  // follows (10, 9, 509)
  Peer smaller = master_of(10, 8);
  EXPECT_THAT(harness.receive(smaller, Kind::adjtime), ElementsAre("stale to 8"));
  Peer earlier = old_master();
  earlier.incarnation = Incarnation{508};
  earlier.epoch.incarnation = earlier.incarnation;
  EXPECT_THAT(harness.receive(earlier, Kind::adjtime), ElementsAre("stale to 9"));
  Peer same = old_master();
  EXPECT_THAT(harness.receive(same, Kind::adjtime), ElementsAre("ack to 9", "adjusted by 9"));
  Peer larger = master_of(10, 10);
  EXPECT_THAT(harness.receive(larger, Kind::adjtime), ElementsAre("ack to 10", "adjusted by 10"));
  EXPECT_EQ(harness.machine().master(), larger.id);
}

// --- repeats of Masterreq and Election ---

TEST(Repeats, OfMasterreqComeEveryFifthOfTheStartWithItsAge) {
  Harness harness("lan", 4);
  EXPECT_THAT(harness.start(), ElementsAre("masterreq to all"));
  EXPECT_EQ(harness.sent(Kind::masterreq).age, 0ns);
  const Sequence call = harness.sent(Kind::masterreq).sequence;
  for (int i = 1; i <= 4; ++i) {
    EXPECT_EQ(harness.left(Timer::repeat), 100ms);
    EXPECT_THAT(harness.run_out(Timer::repeat), ElementsAre("masterreq to all"));
    EXPECT_EQ(harness.sent(Kind::masterreq).age, i * 100ms);
    EXPECT_EQ(harness.sent(Kind::masterreq).sequence, call);
  }
  EXPECT_FALSE(harness.runs(Timer::repeat));
}

TEST(Repeats, OfElectionComeEverySixthOfTheCandidateTimerWithItsAge) {
  Harness harness("lan", 4);
  bring_to(harness, State::slave);
  EXPECT_THAT(harness.command(Command::stand), ElementsAre("election to all"));
  const Instant stood = harness.now();
  const Message first = harness.sent(Kind::election);
  EXPECT_EQ(first.age, 0ns);
  EXPECT_EQ(first.epoch, (Epoch{10, NodeId{9}, Incarnation{509}}));
  for (int i = 1; i <= 4; ++i) {
    EXPECT_EQ(harness.left(Timer::repeat), Nanos{200ms} / 6);
    EXPECT_THAT(harness.run_out(Timer::repeat), ElementsAre("election to all"));
    EXPECT_EQ(harness.sent(Kind::election).age, harness.now() - stood);
    EXPECT_EQ(harness.sent(Kind::election).sequence, first.sequence);
    EXPECT_EQ(harness.sent(Kind::election).epoch, first.epoch);
  }
  EXPECT_FALSE(harness.runs(Timer::repeat));
  EXPECT_LT(harness.now() - stood, 200ms) << "time is left for an answer to the last one";
}

TEST(Repeats, StopWhenTheCandidateWithdraws) {
  Harness harness("lan", 4);
  bring_to(harness, State::candidate);
  Peer master = old_master();
  EXPECT_TRUE(harness.runs(Timer::repeat));
  harness.receive(master, Kind::masterup);
  EXPECT_EQ(harness.state(), State::slave);
  EXPECT_FALSE(harness.runs(Timer::repeat));
}

TEST(Repeats, AreNotSentIfTheRulesSayZero) {
  Harness harness("lan", 0);
  harness.start();
  EXPECT_FALSE(harness.runs(Timer::repeat));
  Harness candidate("lan", 0);
  bring_to(candidate, State::candidate);
  EXPECT_FALSE(candidate.runs(Timer::repeat));
}

// --- rivals ---

TEST(Rival, InStartupIsANodeThatStartedLater) {
  Peer other = peer(4);
  Message asks;
  asks.age = 100ms;
  {
    Harness harness;
    harness.start();
    harness.sleep(100ms);
    EXPECT_THAT(harness.receive(other, Kind::masterreq, asks), IsEmpty());
    harness.run_out(Timer::startup);
    EXPECT_EQ(harness.state(), State::no_master) << "of the same age: this node continues";
  }
  {
    Harness harness;
    harness.start();
    harness.sleep(100ms + 1ns);
    EXPECT_THAT(harness.receive(other, Kind::masterreq, asks), IsEmpty());
    harness.run_out(Timer::startup);
    EXPECT_EQ(harness.state(), State::slave) << "younger: this node becomes slave";
  }
}

TEST(Rival, CandidateYieldsToAnOlderCandidacyOnly) {
  for (const auto& [age, next] :
       {std::pair{Nanos{50ms}, State::candidate}, {50ms + 1ns, State::accept}}) {
    Harness harness;
    bring_to(harness, State::candidate);
    harness.sleep(50ms);
    Peer rival = peer(4);
    rival.last = 100;
    Message stands;
    stands.age = age;
    const auto lines = harness.receive(rival, Kind::election, stands);
    EXPECT_EQ(harness.state(), next);
    EXPECT_THAT(lines, ElementsAre(next == State::accept ? "accept to 4" : "refuse to 4"));
    EXPECT_EQ(harness.sent().answers, Sequence{rival.last});
  }
}

// --- an answer counts only for the Election that it names ---

TEST(Answers, ToAnotherElectionAreAcknowledgedAndIgnored) {
  Harness harness;
  bring_to(harness, State::candidate);
  Peer other = peer(4);
  other.last = 100;
  Peer master = old_master();
  const Instant ends = harness.machine().timers().at(Timer::candidate);
  harness.sleep(10ms);
  for (const Sequence wrong : {Sequence{1}, Sequence{2}, Sequence{4}}) {
    EXPECT_THAT(harness.receive(other, Kind::accept, answering(wrong)), ElementsAre("ack to 4"));
    EXPECT_THAT(harness.receive(other, Kind::refuse, answering(wrong)), ElementsAre("ack to 4"));
    EXPECT_THAT(harness.receive(master, Kind::quit, answering(wrong)), ElementsAre("ack to 9"));
  }
  EXPECT_EQ(harness.state(), State::candidate);
  EXPECT_TRUE(harness.machine().list().empty());
  EXPECT_EQ(harness.machine().timers().at(Timer::candidate), ends);
}

TEST(Answers, ToOurElectionCount) {
  {
    Harness harness;
    bring_to(harness, State::candidate);
    Peer other = peer(4);
    harness.sleep(10ms);
    EXPECT_THAT(harness.receive(other, Kind::accept, answering(kOurElection)),
                ElementsAre("ack to 4"));
    EXPECT_TRUE(harness.machine().list().contains(other.id));
    EXPECT_EQ(harness.left(Timer::candidate), 200ms);
  }
  {
    Harness harness;
    bring_to(harness, State::candidate);
    Peer other = peer(4);
    EXPECT_THAT(harness.receive(other, Kind::refuse, answering(kOurElection)),
                ElementsAre("ack to 4"));
    EXPECT_EQ(harness.state(), State::slave);
    EXPECT_EQ(harness.machine().backoff(), 2U);
  }
  {
    Harness harness;
    bring_to(harness, State::candidate);
    Peer master = old_master();
    EXPECT_THAT(harness.receive(master, Kind::quit, answering(kOurElection)),
                ElementsAre("ack to 9"));
    EXPECT_EQ(harness.state(), State::slave);
    EXPECT_EQ(harness.machine().backoff(), 1U) << "a master exists: no collision";
  }
}

TEST(Answers, AQuitOfANewEpochIsObeyedForAnyElection) {
  Harness harness;
  bring_to(harness, State::candidate);
  Peer newer = master_of(11, 6);
  EXPECT_THAT(harness.receive(newer, Kind::quit, answering(Sequence{99})), ElementsAre("ack to 6"));
  EXPECT_EQ(harness.state(), State::slave);
  EXPECT_EQ(harness.machine().followed(), newer.epoch);
}

TEST(Answers, AQuitOfALowerEpochIsObeyedIfItNamesOurElection) {
  {
    Harness harness;
    bring_to(harness, State::candidate);
    Peer lower = master_of(9, 6);
    EXPECT_THAT(harness.receive(lower, Kind::quit, answering(kOurElection)),
                ElementsAre("ack to 6", "stale to 6"));
    EXPECT_EQ(harness.state(), State::slave);
    EXPECT_EQ(harness.machine().followed().round, 10U);
  }
  {
    Harness harness;
    bring_to(harness, State::candidate);
    Peer lower = master_of(9, 6);
    EXPECT_THAT(harness.receive(lower, Kind::quit, answering(Sequence{2})),
                ElementsAre("ack to 6", "stale to 6"));
    EXPECT_EQ(harness.state(), State::candidate);
  }
}

TEST(Answers, NameTheElectionAndTheEpochFollowed) {
  Harness harness;
  bring_to(harness, State::slave);
  Peer candidate = peer(4);
  candidate.last = 41;
  harness.receive(candidate, Kind::election);
  EXPECT_EQ(harness.sent(Kind::accept).answers, Sequence{42});
  EXPECT_EQ(harness.sent(Kind::accept).epoch, harness.machine().followed());
  Peer other = peer(5);
  other.last = 7;
  harness.receive(other, Kind::election);
  EXPECT_EQ(harness.sent(Kind::refuse).answers, Sequence{8});
}

// --- repeated Elections ---

TEST(RepeatedElection, IsAnsweredAgainUntilTheAnswerIsAcknowledged) {
  Harness harness;
  bring_to(harness, State::slave);
  Peer candidate = peer(4);
  Message election = candidate.make(Kind::election);
  ASSERT_THAT(harness.receive(candidate.id, election), ElementsAre("accept to 4"));
  const Message accept = harness.sent(Kind::accept);
  election.age = 33ms;
  EXPECT_THAT(harness.receive(candidate.id, election), ElementsAre("accept to 4"));
  EXPECT_EQ(harness.sent(Kind::accept).sequence, accept.sequence) << "the same Accept";

  Message ack = answering(accept.sequence);
  ack.subject_incarnation = kIncarnation;
  harness.receive(candidate, Kind::ack, ack);
  EXPECT_THAT(harness.receive(candidate.id, election), IsEmpty());
  EXPECT_EQ(harness.state(), State::accept);
}

TEST(RepeatedElection, IsAnsweredAgainInAnyLaterState) {
  Harness harness;
  bring_to(harness, State::accept);
  Peer second = peer(5);
  Message election = second.make(Kind::election);
  ASSERT_THAT(harness.receive(second.id, election), ElementsAre("refuse to 5"));
  harness.sleep(1s);
  harness.on_timer(Timer::accept);
  ASSERT_EQ(harness.state(), State::slave);
  EXPECT_THAT(harness.receive(second.id, election), ElementsAre("refuse to 5"));
  EXPECT_EQ(harness.state(), State::slave) << "an old Election is not a new one";
}

TEST(RepeatedElection, OfAnEarlierNumberIsIgnored) {
  Harness harness;
  bring_to(harness, State::slave);
  Peer candidate = peer(4);
  const Message first = candidate.make(Kind::election);
  const Message second = candidate.make(Kind::election);
  harness.receive(candidate.id, second);
  EXPECT_THAT(harness.receive(candidate.id, first), IsEmpty());
}

TEST(RepeatedElection, WithANewNumberIsAcceptedAgain) {
  Harness harness;
  bring_to(harness, State::accept);
  harness.sleep(500ms);
  Peer candidate = peer(4);
  candidate.last = 100;
  EXPECT_THAT(harness.receive(candidate, Kind::election), ElementsAre("accept to 4"));
  EXPECT_EQ(harness.left(Timer::accept), 1s);
}

// As printed: one duplicated datagram ends an election.
TEST(RepeatedElection, IsRefusedInTheVariantThatRefusesDuplicates) {
  Harness harness("lan", 0, {.refuse_duplicate = true});
  bring_to(harness, State::slave);
  Peer candidate = peer(4);
  const Message election = candidate.make(Kind::election);
  EXPECT_THAT(harness.receive(candidate.id, election), ElementsAre("accept to 4"));
  EXPECT_THAT(harness.receive(candidate.id, election), ElementsAre("refuse to 4"));
}

}  // namespace
}  // namespace tempo::election
