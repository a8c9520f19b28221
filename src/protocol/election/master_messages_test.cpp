// What is acknowledged, repeated, answered and ignored.
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/election/master_test_hand.h"

namespace tempo::election {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A sender that starts again counts from 1: its first messages are not old ones.
TEST(Acknowledgement, ARestartedSenderIsHeardAnew) {
  Hand hand;
  bring_to(hand, State::slave);
  Peer master = master_of(20, 6);
  EXPECT_THAT(hand.receive(master, Kind::adjtime), ElementsAre("ack to 6", "adjusted by 6"));
  Peer again = master;
  again.life = Incarnation{999};
  again.epoch = {21, again.id, again.life};
  again.last = 0;
  const Message first = again.says(Kind::adjtime);
  ASSERT_EQ(first.sequence, Sequence{1});
  EXPECT_THAT(hand.receive(again.id, first), ElementsAre("ack to 6", "adjusted by 6"));
  EXPECT_THAT(hand.receive(again.id, first), ElementsAre("ack to 6"));
}

TEST(Acknowledgement, OfAnotherLifeIsIgnored) {
  Hand hand;
  bring_to(hand, State::accept);
  Peer candidate = peer(4);
  candidate.last = 100;
  Message ack;
  // Its Accept is the third message it numbered: Masterreq, Slaveup, Accept.
  ack.answers = Sequence{3};
  ack.subject_incarnation = Incarnation{76};
  hand.receive(candidate, Kind::ack, ack);
  EXPECT_TRUE(hand.runs(Timer::retransmit));
  EXPECT_THAT(hand.run_out(Timer::retransmit), ElementsAre("accept to 4"));
  EXPECT_EQ(hand.sent(Kind::accept).sequence, Sequence{3});

  ack.subject_incarnation = kLife;
  ack.answers = Sequence{2};
  hand.receive(candidate, Kind::ack, ack);
  EXPECT_TRUE(hand.runs(Timer::retransmit)) << "another message was acknowledged";
  Peer stranger = peer(5);
  ack.answers = Sequence{3};
  hand.receive(stranger, Kind::ack, ack);
  EXPECT_TRUE(hand.runs(Timer::retransmit)) << "somebody else acknowledged it";
  hand.receive(candidate, Kind::ack, ack);
  EXPECT_FALSE(hand.runs(Timer::retransmit));
}

// The same round, a smaller name or an earlier life: lower all the same.
TEST(LowerEpoch, IsComparedByRoundThenNameThenLife) {
  Hand hand;
  bring_to(hand, State::slave);  // follows (10, 9, 509)
  Peer smaller = master_of(10, 8);
  EXPECT_THAT(hand.receive(smaller, Kind::adjtime), ElementsAre("stale to 8"));
  Peer earlier = old_master();
  earlier.life = Incarnation{508};
  earlier.epoch.incarnation = earlier.life;
  EXPECT_THAT(hand.receive(earlier, Kind::adjtime), ElementsAre("stale to 9"));
  Peer same = old_master();
  EXPECT_THAT(hand.receive(same, Kind::adjtime), ElementsAre("ack to 9", "adjusted by 9"));
  Peer larger = master_of(10, 10);
  EXPECT_THAT(hand.receive(larger, Kind::adjtime), ElementsAre("ack to 10", "adjusted by 10"));
  EXPECT_EQ(hand.machine().master(), larger.id);
}

// --- repeats of Masterreq and Election ---

TEST(Repeats, OfMasterreqComeEveryFifthOfTheStartAndSayHowOldItIs) {
  Hand hand("lan", 4);
  EXPECT_THAT(hand.start(), ElementsAre("masterreq to all"));
  EXPECT_EQ(hand.sent(Kind::masterreq).age, 0ns);
  const Sequence call = hand.sent(Kind::masterreq).sequence;
  for (int i = 1; i <= 4; ++i) {
    EXPECT_EQ(hand.left(Timer::repeat), 100ms);
    EXPECT_THAT(hand.run_out(Timer::repeat), ElementsAre("masterreq to all"));
    EXPECT_EQ(hand.sent(Kind::masterreq).age, i * 100ms);
    EXPECT_EQ(hand.sent(Kind::masterreq).sequence, call);
  }
  EXPECT_FALSE(hand.runs(Timer::repeat));
}

TEST(Repeats, OfElectionComeEverySixthOfTheCandidateTimerAndSayHowOldItIs) {
  Hand hand("lan", 4);
  bring_to(hand, State::slave);
  EXPECT_THAT(hand.command(Command::stand), ElementsAre("election to all"));
  const Instant stood = hand.now();
  const Message first = hand.sent(Kind::election);
  EXPECT_EQ(first.age, 0ns);
  EXPECT_EQ(first.epoch, (Epoch{10, NodeId{9}, Incarnation{509}}));
  for (int i = 1; i <= 4; ++i) {
    EXPECT_EQ(hand.left(Timer::repeat), Nanos{200ms} / 6);
    EXPECT_THAT(hand.run_out(Timer::repeat), ElementsAre("election to all"));
    EXPECT_EQ(hand.sent(Kind::election).age, hand.now() - stood);
    EXPECT_EQ(hand.sent(Kind::election).sequence, first.sequence);
    EXPECT_EQ(hand.sent(Kind::election).epoch, first.epoch);
  }
  EXPECT_FALSE(hand.runs(Timer::repeat));
  EXPECT_LT(hand.now() - stood, 200ms) << "the last one leaves room for an answer";
}

TEST(Repeats, StopWhenTheCandidateWithdraws) {
  Hand hand("lan", 4);
  bring_to(hand, State::candidate);
  Peer master = old_master();
  EXPECT_TRUE(hand.runs(Timer::repeat));
  hand.receive(master, Kind::masterup);
  EXPECT_EQ(hand.state(), State::slave);
  EXPECT_FALSE(hand.runs(Timer::repeat));
}

TEST(Repeats, AreNotMadeWhenTheRulesWantNone) {
  Hand hand("lan", 0);
  hand.start();
  EXPECT_FALSE(hand.runs(Timer::repeat));
  Hand candidate("lan", 0);
  bring_to(candidate, State::candidate);
  EXPECT_FALSE(candidate.runs(Timer::repeat));
}

// --- rivals ---

TEST(Rival, InStartupIsOnlyWhoStartedLater) {
  Peer other = peer(4);
  Message asks;
  asks.age = 100ms;
  {
    Hand hand;
    hand.start();
    hand.sleep(100ms);
    EXPECT_THAT(hand.receive(other, Kind::masterreq, asks), IsEmpty());
    hand.run_out(Timer::startup);
    EXPECT_EQ(hand.state(), State::no_master) << "as old as ourselves: it gives way";
  }
  {
    Hand hand;
    hand.start();
    hand.sleep(100ms + 1ns);
    EXPECT_THAT(hand.receive(other, Kind::masterreq, asks), IsEmpty());
    hand.run_out(Timer::startup);
    EXPECT_EQ(hand.state(), State::slave) << "younger: we give way";
  }
}

TEST(Rival, CandidateYieldsToAnOlderCandidacyOnly) {
  for (const auto& [age, next] :
       {std::pair{Nanos{50ms}, State::candidate}, {50ms + 1ns, State::accept}}) {
    Hand hand;
    bring_to(hand, State::candidate);
    hand.sleep(50ms);
    Peer rival = peer(4);
    rival.last = 100;
    Message stands;
    stands.age = age;
    const auto lines = hand.receive(rival, Kind::election, stands);
    EXPECT_EQ(hand.state(), next);
    EXPECT_THAT(lines, ElementsAre(next == State::accept ? "accept to 4" : "refuse to 4"));
    EXPECT_EQ(hand.sent().front().answers, Sequence{rival.last});
  }
}

// --- answers are bound to the Election they answer ---

TEST(Answers, ThatNameAnotherElectionAreAcknowledgedAndIgnored) {
  Hand hand;
  bring_to(hand, State::candidate);
  Peer other = peer(4);
  other.last = 100;
  Peer master = old_master();
  const Instant ends = hand.machine().timers().at(Timer::candidate);
  hand.sleep(10ms);
  for (const Sequence wrong : {Sequence{1}, Sequence{2}, Sequence{4}}) {
    EXPECT_THAT(hand.receive(other, Kind::accept, answering(wrong)), ElementsAre("ack to 4"));
    EXPECT_THAT(hand.receive(other, Kind::refuse, answering(wrong)), ElementsAre("ack to 4"));
    EXPECT_THAT(hand.receive(master, Kind::quit, answering(wrong)), ElementsAre("ack to 9"));
  }
  EXPECT_EQ(hand.state(), State::candidate);
  EXPECT_TRUE(hand.machine().list().empty());
  EXPECT_EQ(hand.machine().timers().at(Timer::candidate), ends);
}

TEST(Answers, ThatNameOursCount) {
  {
    Hand hand;
    bring_to(hand, State::candidate);
    Peer other = peer(4);
    hand.sleep(10ms);
    EXPECT_THAT(hand.receive(other, Kind::accept, answering(kOurElection)), ElementsAre("ack to 4"));
    EXPECT_TRUE(hand.machine().list().contains(other.id));
    EXPECT_EQ(hand.left(Timer::candidate), 200ms);
  }
  {
    Hand hand;
    bring_to(hand, State::candidate);
    Peer other = peer(4);
    EXPECT_THAT(hand.receive(other, Kind::refuse, answering(kOurElection)), ElementsAre("ack to 4"));
    EXPECT_EQ(hand.state(), State::slave);
    EXPECT_EQ(hand.machine().backoff(), 2U);
  }
  {
    Hand hand;
    bring_to(hand, State::candidate);
    Peer master = old_master();
    EXPECT_THAT(hand.receive(master, Kind::quit, answering(kOurElection)), ElementsAre("ack to 9"));
    EXPECT_EQ(hand.state(), State::slave);
    EXPECT_EQ(hand.machine().backoff(), 1U) << "a master exists: no collision";
  }
}

TEST(Answers, AQuitOfANewEpochIsObeyedWhateverItNames) {
  Hand hand;
  bring_to(hand, State::candidate);
  Peer newer = master_of(11, 6);
  EXPECT_THAT(hand.receive(newer, Kind::quit, answering(Sequence{99})), ElementsAre("ack to 6"));
  EXPECT_EQ(hand.state(), State::slave);
  EXPECT_EQ(hand.machine().followed(), newer.epoch);
}

TEST(Answers, AQuitOfALowerEpochIsObeyedIfItNamesOurElection) {
  {
    Hand hand;
    bring_to(hand, State::candidate);
    Peer lower = master_of(9, 6);
    EXPECT_THAT(hand.receive(lower, Kind::quit, answering(kOurElection)),
                ElementsAre("ack to 6", "stale to 6"));
    EXPECT_EQ(hand.state(), State::slave);
    EXPECT_EQ(hand.machine().followed().round, 10U);
  }
  {
    Hand hand;
    bring_to(hand, State::candidate);
    Peer lower = master_of(9, 6);
    EXPECT_THAT(hand.receive(lower, Kind::quit, answering(Sequence{2})),
                ElementsAre("ack to 6", "stale to 6"));
    EXPECT_EQ(hand.state(), State::candidate);
  }
}

TEST(Answers, NameTheElectionAndTheEpochFollowed) {
  Hand hand;
  bring_to(hand, State::slave);
  Peer candidate = peer(4);
  candidate.last = 41;
  hand.receive(candidate, Kind::election);
  EXPECT_EQ(hand.sent(Kind::accept).answers, Sequence{42});
  EXPECT_EQ(hand.sent(Kind::accept).epoch, hand.machine().followed());
  Peer other = peer(5);
  other.last = 7;
  hand.receive(other, Kind::election);
  EXPECT_EQ(hand.sent(Kind::refuse).answers, Sequence{8});
}

// --- repeated Elections ---

TEST(RepeatedElection, IsAnsweredAgainOnlyWhileTheAnswerIsNotAcknowledged) {
  Hand hand;
  bring_to(hand, State::slave);
  Peer candidate = peer(4);
  Message election = candidate.says(Kind::election);
  ASSERT_THAT(hand.receive(candidate.id, election), ElementsAre("accept to 4"));
  const Message accept = hand.sent(Kind::accept);
  election.age = 33ms;
  EXPECT_THAT(hand.receive(candidate.id, election), ElementsAre("accept to 4"));
  EXPECT_EQ(hand.sent(Kind::accept).sequence, accept.sequence) << "the same Accept";

  Message ack = answering(accept.sequence);
  ack.subject_incarnation = kLife;
  hand.receive(candidate, Kind::ack, ack);
  EXPECT_THAT(hand.receive(candidate.id, election), IsEmpty());
  EXPECT_EQ(hand.state(), State::accept);
}

TEST(RepeatedElection, IsAnsweredAgainWhateverTheStateByThen) {
  Hand hand;
  bring_to(hand, State::accept);
  Peer second = peer(5);
  Message election = second.says(Kind::election);
  ASSERT_THAT(hand.receive(second.id, election), ElementsAre("refuse to 5"));
  hand.sleep(1s);
  hand.on_timer(Timer::accept);
  ASSERT_EQ(hand.state(), State::slave);
  EXPECT_THAT(hand.receive(second.id, election), ElementsAre("refuse to 5"));
  EXPECT_EQ(hand.state(), State::slave) << "an old Election is not a new one";
}

TEST(RepeatedElection, OfAnEarlierNumberIsIgnored) {
  Hand hand;
  bring_to(hand, State::slave);
  Peer candidate = peer(4);
  const Message first = candidate.says(Kind::election);
  const Message second = candidate.says(Kind::election);
  hand.receive(candidate.id, second);
  EXPECT_THAT(hand.receive(candidate.id, first), IsEmpty());
}

TEST(RepeatedElection, WithANewNumberIsAcceptedAnew) {
  Hand hand;
  bring_to(hand, State::accept);
  hand.sleep(500ms);
  Peer candidate = peer(4);
  candidate.last = 100;
  EXPECT_THAT(hand.receive(candidate, Kind::election), ElementsAre("accept to 4"));
  EXPECT_EQ(hand.left(Timer::accept), 1s);
}

// The printed reading: one duplicated datagram kills an election.
TEST(RepeatedElection, IsRefusedInTheVariantThatRefusesDuplicates) {
  Hand hand("lan", 0, {.refuse_duplicate = true});
  bring_to(hand, State::slave);
  Peer candidate = peer(4);
  const Message election = candidate.says(Kind::election);
  EXPECT_THAT(hand.receive(candidate.id, election), ElementsAre("accept to 4"));
  EXPECT_THAT(hand.receive(candidate.id, election), ElementsAre("refuse to 4"));
}

}  // namespace
}  // namespace tempo::election
