// A master: its list, its Adjtime rounds, its messages, and the cases in which it steps down.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/election/master_test_harness.h"

namespace tempo::election {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// --- a master and its list ---

// A master to which slaves 3, 5 and 7 have reported.
class Ruling : public ::testing::Test {
 protected:
  Ruling() {
    bring_to(harness, State::master);
    for (Peer* slave : {&third, &fifth, &seventh}) harness.receive(*slave, Kind::slaveup);
  }
  void acknowledge(Peer& slave) {
    Message ack = answering(adjtime_to(slave));
    ack.subject_incarnation = kIncarnation;
    harness.receive(slave, Kind::ack, ack);
  }
  // Sequence number of this round's Adjtime to a slave; a round sends them in ascending order.
  Sequence adjtime_to(const Peer& slave) const {
    const std::uint32_t place = slave.id == third.id ? 0 : slave.id == fifth.id ? 1 : 2;
    return Sequence{std::to_underlying(first_of_round) + place};
  }
  void begin_round() {
    ASSERT_THAT(harness.run_out(Timer::sync),
                ElementsAre("adjtime to 3", "adjtime to 5", "adjtime to 7"));
    first_of_round = harness.sent().sequence;
  }
  NodeId named_heir() {
    harness.run_out(Timer::loop);
    return harness.sent(Kind::loop).subject;
  }

  Harness harness;
  Peer third = peer(3), fifth = peer(5), seventh = peer(7);
  Sequence first_of_round = kNoSequence;
};

TEST_F(Ruling, TheHeirIsTheHighestListed) {
  EXPECT_EQ(named_heir(), seventh.id);
  Peer ninth = peer(9);
  harness.receive(ninth, Kind::slaveup);
  EXPECT_EQ(named_heir(), ninth.id);
}

TEST_F(Ruling, TheHeirIsTheHighestThatAnswered) {
  begin_round();
  acknowledge(third);
  acknowledge(fifth);
  harness.pass(50ms);  // Adjtime to 7 is sent again
  harness.pass(200ms);
  EXPECT_EQ(harness.sent(Kind::loop).subject, fifth.id);
  acknowledge(seventh);
  EXPECT_EQ(named_heir(), seventh.id) << "it answers again";
}

TEST(Heir, IsNobodyWhileTheListIsEmpty) {
  Harness harness;
  bring_to(harness, State::master);
  harness.run_out(Timer::loop);
  EXPECT_EQ(harness.sent(Kind::loop).subject, kNobody);
}

// The master sends at 0, 50, 150, 350 and 750 ms and gives up when a sixth send would be due.
TEST_F(Ruling, DropsASlaveThatAnswersNoneOfFiveSends) {
  begin_round();
  acknowledge(third);
  acknowledge(fifth);
  const Instant began = harness.now();
  std::vector<Nanos> sends;
  while (harness.machine().list().contains(seventh.id) && harness.now() < began + 5s) {
    const auto lines = harness.run_out(Timer::retransmit);
    if (std::ranges::count(lines, "adjtime to 7") > 0) {
      sends.push_back(harness.now() - began);
    } else {
      EXPECT_THAT(lines, ElementsAre("down: 7"));
    }
  }
  EXPECT_THAT(sends, ElementsAre(50ms, 150ms, 350ms, 750ms));
  EXPECT_EQ(harness.now() - began, 1550ms);
  EXPECT_TRUE(harness.machine().list().contains(third.id));
  EXPECT_TRUE(harness.machine().list().contains(fifth.id));
}

// Retransmission takes longer than a round; a slave that still owes an Ack gets no new Adjtime.
TEST_F(Ruling, SendsNoNewAdjtimeBeforeTheLastIsAcknowledged) {
  begin_round();
  acknowledge(third);
  acknowledge(fifth);
  EXPECT_THAT(harness.run_out(Timer::sync), ElementsAre("adjtime to 3", "adjtime to 5"));
}

TEST_F(Ruling, SetsANewcomerOnceForEachMasterreq) {
  Peer newcomer = peer(8);
  const Message masterreq = newcomer.make(Kind::masterreq);
  EXPECT_THAT(harness.receive(newcomer.id, masterreq),
              ElementsAre("masterack to 8", "settime to 8"));
  EXPECT_THAT(harness.receive(newcomer.id, masterreq), ElementsAre("masterack to 8")) << "a repeat";
  EXPECT_THAT(harness.receive(newcomer, Kind::masterreq),
              ElementsAre("masterack to 8", "settime to 8"));
  EXPECT_TRUE(harness.machine().list().contains(newcomer.id));
}

TEST_F(Ruling, SetsASlaveThatWasNeverSet) {
  Peer slave = peer(8);
  Message report;
  report.not_set = true;
  EXPECT_THAT(harness.receive(slave, Kind::slaveup, report), ElementsAre("settime to 8"));
  report.not_set = false;
  EXPECT_THAT(harness.receive(slave, Kind::slaveup, report), IsEmpty());
}

// The unscheduled Loop lets the other master's slaves follow at once; its rate is limited.
TEST_F(Ruling, AnswersAFormerMasterWithLoopAtOnce) {
  Peer former = peer(8);
  Message report;
  report.was_master = true;
  EXPECT_THAT(harness.receive(former, Kind::slaveup, report), ElementsAre("loop to all"));
  harness.sleep(200ms - 1ns);
  EXPECT_THAT(harness.receive(former, Kind::slaveup, report), IsEmpty());
  harness.sleep(1ns);
  EXPECT_THAT(harness.receive(former, Kind::slaveup, report), ElementsAre("loop to all"));
}

TEST_F(Ruling, SendsOneQuitAtATimeToAMasterOfALowerEpoch) {
  Peer lower = master_of(9, 8);
  EXPECT_THAT(harness.receive(lower, Kind::loop), ElementsAre("quit to 8", "loop to all"));
  EXPECT_EQ(harness.sent(Kind::quit).answers, kNoSequence) << "meant for a master";
  EXPECT_EQ(harness.sent(Kind::quit).epoch, harness.machine().followed());
  EXPECT_TRUE(harness.machine().list().contains(lower.id));
  EXPECT_THAT(harness.receive(lower, Kind::loop), IsEmpty());
}

TEST_F(Ruling, EndsAnElectionWithQuit) {
  Peer late = peer(8);
  late.last = 30;
  EXPECT_THAT(harness.receive(late, Kind::election), ElementsAre("quit to 8"));
  EXPECT_EQ(harness.sent(Kind::quit).answers, Sequence{31});
  EXPECT_TRUE(harness.machine().list().contains(late.id));
}

TEST_F(Ruling, AcceptsACandidateThatFollowsAHigherEpoch) {
  Peer other = peer(8);
  other.epoch = {12, NodeId{6}, Incarnation{1}};
  EXPECT_THAT(harness.receive(other, Kind::election), ElementsAre("accept to 8"));
  EXPECT_EQ(harness.state(), State::accept);
  EXPECT_TRUE(harness.machine().list().empty());
  EXPECT_EQ(harness.machine().followed(), other.epoch);
}

TEST_F(Ruling, FollowsAMasterOfAHigherEpoch) {
  Peer higher = master_of(11, 6);
  EXPECT_THAT(harness.receive(higher, Kind::loop), ElementsAre("slaveup to 6"));
  EXPECT_TRUE(harness.sent(Kind::slaveup).was_master);
  EXPECT_EQ(harness.state(), State::slave);
  EXPECT_TRUE(harness.machine().list().empty());
  EXPECT_EQ(harness.left(Timer::election), 3750ms) << "the middle of 2.5 to 5 s";
}

// A live newer master sends within one candidate time; a dead one is replaced after it.
TEST_F(Ruling, StaleOfAHigherEpochMakesASlaveWithAShortTimeout) {
  Peer slave = peer(3);
  Message stale;
  stale.epoch = {11, NodeId{6}, Incarnation{1}};
  EXPECT_THAT(harness.receive(slave, Kind::stale, stale), ElementsAre("slaveup to 6"));
  EXPECT_TRUE(harness.sent(Kind::slaveup).was_master);
  EXPECT_EQ(harness.state(), State::slave);
  EXPECT_EQ(harness.left(Timer::election), 200ms);
}

TEST_F(Ruling, StaleOfAnEarlierOwnIncarnationMakesACandidate) {
  Peer slave = peer(3);
  Message stale;
  stale.epoch = {11, kSelf, Incarnation{5}};
  EXPECT_THAT(harness.receive(slave, Kind::stale, stale), ElementsAre("election to all"));
  EXPECT_EQ(harness.state(), State::candidate);
  // Its next epoch is above that of the earlier incarnation.
  harness.run_out(Timer::candidate);
  EXPECT_EQ(harness.machine().followed(), (Epoch{12, kSelf, kIncarnation}));
}

TEST_F(Ruling, StaleOfALowerEpochChangesNothing) {
  Peer slave = peer(3);
  Message stale;
  stale.epoch = {9, NodeId{6}, Incarnation{1}};
  EXPECT_THAT(harness.receive(slave, Kind::stale, stale), IsEmpty());
  EXPECT_EQ(harness.state(), State::master);
}

// --- rounds ---

TEST(Rounds, ANewMasterTakesTheNextAfterEveryRoundSeen) {
  for (const Kind kind : {Kind::election, Kind::accept, Kind::refuse, Kind::stale}) {
    Harness harness;
    bring_to(harness, State::candidate);
    Peer other = peer(4);
    other.last = 100;
    Message with;
    with.epoch = {30, NodeId{2}, Incarnation{1}};
    harness.receive(other, kind, with);
    ASSERT_EQ(harness.state(), State::candidate) << name_of(kind);
    EXPECT_EQ(harness.machine().followed().round, 10U)
        << "such a message raises only the round seen";
    harness.run_out(Timer::candidate);
    EXPECT_EQ(harness.machine().followed(), (Epoch{31, kSelf, kIncarnation})) << name_of(kind);
    EXPECT_EQ(harness.sent(Kind::masterup).epoch, harness.machine().followed());
  }
}

TEST(Rounds, AMasterKeepsItsEpochThroughAConflict) {
  Harness harness;
  bring_to(harness, State::conflict);
  const Epoch before = harness.machine().followed();
  EXPECT_THAT(harness.run_out(Timer::conflict), ElementsAre("masterup to all"));
  EXPECT_EQ(harness.machine().followed(), before);
}

// --- leaving a state withdraws its reliable messages ---

TEST(Withdrawal, OfCorrectionsAndQuitsWhenAMasterStepsDown) {
  Harness harness;
  bring_to(harness, State::master);
  Peer newcomer = peer(3), late = peer(4);
  harness.receive(newcomer, Kind::masterreq);  // Settime
  late.last = 100;
  harness.receive(late, Kind::election);  // Quit
  harness.run_out(Timer::sync);           // Adjtime
  ASSERT_TRUE(harness.runs(Timer::retransmit));
  Peer higher = master_of(11, 6);
  harness.receive(higher, Kind::loop);
  EXPECT_FALSE(harness.runs(Timer::retransmit));
}

TEST(Withdrawal, OfAConflictWhenACandidacyEnds) {
  Harness harness;
  bring_to(harness, State::consistency);
  Peer rival = master_of(11, 6);
  ASSERT_THAT(harness.receive(rival, Kind::masterack),
              ElementsAre("slaveup to 6", "conflict to 9"));
  harness.command(Command::stand);
  ASSERT_EQ(harness.state(), State::candidate);
  EXPECT_TRUE(harness.runs(Timer::retransmit));
  harness.receive(rival, Kind::masterup);
  ASSERT_EQ(harness.state(), State::slave);
  EXPECT_FALSE(harness.runs(Timer::retransmit));
}

TEST(Withdrawal, OfAnAcceptWhenAcceptEnds) {
  {
    Harness harness;
    bring_to(harness, State::accept);
    harness.sleep(1s);
    harness.on_timer(Timer::accept);
    ASSERT_EQ(harness.state(), State::slave);
    EXPECT_FALSE(harness.runs(Timer::retransmit));
  }
  {
    Harness harness;
    bring_to(harness, State::accept);
    Peer candidate = master_of(11, 4);
    candidate.last = 100;
    harness.receive(candidate, Kind::masterup);
    ASSERT_EQ(harness.state(), State::slave);
    EXPECT_FALSE(harness.runs(Timer::retransmit));
  }
}

TEST(Withdrawal, DoesNotConcernARefuseWhenAcceptEnds) {
  Harness harness;
  bring_to(harness, State::accept);
  Peer second = peer(5);
  harness.receive(second, Kind::election);
  harness.sleep(1s);
  harness.on_timer(Timer::accept);
  ASSERT_EQ(harness.state(), State::slave);
  EXPECT_TRUE(harness.runs(Timer::retransmit));
}

TEST(Withdrawal, OfARefuseWhenACandidateBecomesMaster) {
  Harness harness;
  bring_to(harness, State::candidate);
  Peer rival = peer(5);
  ASSERT_THAT(harness.receive(rival, Kind::election), ElementsAre("refuse to 5"));
  EXPECT_TRUE(harness.runs(Timer::retransmit));
  harness.run_out(Timer::candidate);
  ASSERT_EQ(harness.state(), State::master);
  EXPECT_FALSE(harness.runs(Timer::retransmit));
}

}  // namespace
}  // namespace tempo::election
