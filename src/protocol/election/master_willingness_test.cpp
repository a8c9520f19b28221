// Who leads gladly, reluctantly or never; resigning, claiming, staying out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/election/master_test_hand.h"

namespace tempo::election {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Allegiance, IsToldWhenItChanges) {
  Hand hand;
  hand.start();
  EXPECT_EQ(hand.allegiance(), "");
  Peer master = master_of(10, 9);
  hand.receive(master, Kind::masterup);
  EXPECT_EQ(hand.allegiance(), "follows 9 in 10");
  Peer newer = master_of(11, 3);
  hand.receive(newer, Kind::loop);
  EXPECT_EQ(hand.allegiance(), "follows 3 in 11");
  hand.run_out(Timer::election);
  hand.run_out(Timer::candidate);
  EXPECT_EQ(hand.allegiance(), "leads 12");
}

TEST(Allegiance, AMasterThatMeetsANewerOneFollowsIt) {
  Hand hand;
  bring_to(hand, State::master);
  EXPECT_EQ(hand.allegiance(), "leads 10");
  Peer newer = master_of(15, 3);
  hand.receive(newer, Kind::loop);
  EXPECT_EQ(hand.allegiance(), "follows 3 in 15");
}

TEST(Resign, AMasterSaysSoAndBecomesSlave) {
  for (const State state : {State::master, State::conflict}) {
    Hand hand;
    bring_to(hand, state);
    EXPECT_THAT(hand.command(Command::resign), ElementsAre("masterdown to all"));
    EXPECT_EQ(hand.sent(Kind::masterdown).subject, kSelf);
    EXPECT_EQ(hand.sent(Kind::masterdown).subject_incarnation, kLife);
    EXPECT_EQ(hand.state(), State::slave);
    EXPECT_TRUE(hand.runs(Timer::election));
    EXPECT_FALSE(hand.runs(Timer::loop));
  }
}

TEST(Resign, ChangesNothingElsewhere) {
  for (const State state : {State::startup, State::no_master, State::slave, State::candidate,
                            State::accept, State::consistency}) {
    Hand hand;
    bring_to(hand, state);
    EXPECT_THAT(hand.command(Command::resign), IsEmpty());
    EXPECT_EQ(hand.state(), state);
  }
}

// Its slaves count the old epoch as given up: the next mastership needs one of its own.
TEST(Resign, WhoComesBackRulesUnderANewEpoch) {
  Hand hand;
  bring_to(hand, State::master);
  hand.command(Command::resign);
  hand.run_out(Timer::election);
  hand.run_out(Timer::candidate);
  EXPECT_EQ(hand.allegiance(), "leads 11");
}

TEST(Conflict, EndsUnderTheSameEpoch) {
  Hand hand;
  bring_to(hand, State::conflict);
  hand.run_out(Timer::conflict);
  EXPECT_EQ(hand.state(), State::master);
  EXPECT_EQ(hand.machine().followed().round, 10U);
}

TEST(Claim, MakesAMasterOfASlaveOnly) {
  for (const State state : kAllStates) {
    Hand hand;
    bring_to(hand, state);
    const auto lines = hand.command(Command::claim);
    if (state == State::slave) {
      EXPECT_THAT(lines, ElementsAre("masterup to all"));
      EXPECT_EQ(hand.allegiance(), "leads 11");
    } else {
      EXPECT_THAT(lines, IsEmpty());
      EXPECT_EQ(hand.state(), state);
    }
  }
}

TEST(NeverLeads, AsksAgainInsteadOfRuling) {
  Hand hand("lan", 0, {}, kNeverLeads);
  hand.start();
  hand.run_out(Timer::startup);
  EXPECT_EQ(hand.state(), State::no_master);
  EXPECT_THAT(hand.run_out(Timer::no_master), ElementsAre("masterreq to all"));
  EXPECT_EQ(hand.state(), State::startup);
}

TEST(NeverLeads, IsPatientForEver) {
  Hand hand("lan", 0, {}, kNeverLeads);
  bring_to(hand, State::slave);
  EXPECT_THAT(hand.run_out(Timer::election), IsEmpty());
  EXPECT_EQ(hand.state(), State::slave);
  EXPECT_TRUE(hand.runs(Timer::election));
  EXPECT_THAT(hand.command(Command::stand), IsEmpty());
  EXPECT_THAT(hand.command(Command::claim), IsEmpty());
  EXPECT_EQ(hand.state(), State::slave);
}

TEST(NeverLeads, DoesNotStandThoughNamedHeir) {
  Hand hand("lan", 0, {}, kNeverLeads);
  bring_to(hand, State::slave);
  Peer master = old_master();
  Message heir;
  heir.subject = kSelf;
  hand.receive(master, Kind::loop, heir);
  Message gone;
  gone.subject = master.id;
  gone.subject_incarnation = master.life;
  Peer parent = peer(4);
  hand.receive(parent, Kind::masterdown, gone);
  EXPECT_EQ(hand.state(), State::slave);
}

TEST(StayOut, AMasterResignsAndComesBackWillingOnlyWhenTold) {
  Hand hand;
  bring_to(hand, State::master);
  EXPECT_THAT(hand.command(Command::stay_out), ElementsAre("masterdown to all"));
  EXPECT_EQ(hand.machine().reluctance(), kNeverLeads);
  hand.run_out(Timer::election);
  EXPECT_EQ(hand.state(), State::slave);
  hand.command(Command::come_back);
  EXPECT_EQ(hand.machine().reluctance(), kGlad);
  hand.run_out(Timer::election);
  EXPECT_EQ(hand.state(), State::candidate);
}

TEST(StayOut, ACandidateWithdraws) {
  Hand hand;
  bring_to(hand, State::candidate);
  hand.command(Command::stay_out);
  EXPECT_EQ(hand.state(), State::slave);
}

TEST(Reluctance, LetsOthersGoFirst) {
  Hand glad;
  Hand reluctant("lan", 0, {}, Reluctance{2});
  for (Hand* hand : {&glad, &reluctant}) bring_to(*hand, State::slave);
  const Nanos width = glad.timing().election_max - glad.timing().election_min;
  EXPECT_EQ(reluctant.left(Timer::election), glad.left(Timer::election) + 2 * width);

  Hand starts("lan", 0, {}, Reluctance{2});
  bring_to(starts, State::no_master);
  EXPECT_EQ(starts.left(Timer::no_master),
            starts.timing().no_master + 2 * (starts.timing().startup + starts.timing().no_master));
}

TEST(Reluctance, TheHeirIsGladToLead) {
  Hand hand;
  bring_to(hand, State::master);
  Peer glad = peer(3);
  Peer reluctant = peer(7);
  Message with;
  with.reluctance = Reluctance{1};
  hand.receive(glad, Kind::slaveup);
  hand.receive(reluctant, Kind::slaveup, with);
  hand.run_out(Timer::loop);
  EXPECT_EQ(hand.sent(Kind::loop).subject, glad.id);
  // It has changed its mind.
  hand.receive(reluctant, Kind::slaveup);
  hand.run_out(Timer::loop);
  EXPECT_EQ(hand.sent(Kind::loop).subject, reluctant.id);
}

TEST(Reluctance, IsInEveryMessage) {
  Hand hand("lan", 0, {}, Reluctance{3});
  hand.start();
  EXPECT_EQ(hand.sent(Kind::masterreq).reluctance, Reluctance{3});
  Peer master = master_of(10, 9);
  hand.receive(master, Kind::masterup);
  EXPECT_EQ(hand.sent(Kind::slaveup).reluctance, Reluctance{3});
}

}  // namespace
}  // namespace tempo::election
