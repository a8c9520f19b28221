// Who leads gladly, reluctantly or never; resigning, claiming, staying out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/election/master_test_harness.h"

namespace tempo::election {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Allegiance, IsToldWhenItChanges) {
  Harness harness;
  harness.start();
  EXPECT_EQ(harness.allegiance(), "");
  Peer master = master_of(10, 9);
  harness.receive(master, Kind::masterup);
  EXPECT_EQ(harness.allegiance(), "follows 9 in 10");
  Peer newer = master_of(11, 3);
  harness.receive(newer, Kind::loop);
  EXPECT_EQ(harness.allegiance(), "follows 3 in 11");
  harness.run_out(Timer::election);
  harness.run_out(Timer::candidate);
  EXPECT_EQ(harness.allegiance(), "leads 12");
}

TEST(Allegiance, AMasterThatMeetsANewerOneFollowsIt) {
  Harness harness;
  bring_to(harness, State::master);
  EXPECT_EQ(harness.allegiance(), "leads 10");
  Peer newer = master_of(15, 3);
  harness.receive(newer, Kind::loop);
  EXPECT_EQ(harness.allegiance(), "follows 3 in 15");
}

TEST(Resign, AMasterSaysSoAndBecomesSlave) {
  for (const State state : {State::master, State::conflict}) {
    Harness harness;
    bring_to(harness, state);
    EXPECT_THAT(harness.command(Command::resign), ElementsAre("masterdown to all"));
    EXPECT_EQ(harness.sent(Kind::masterdown).subject, kSelf);
    EXPECT_EQ(harness.sent(Kind::masterdown).subject_incarnation, kLife);
    EXPECT_EQ(harness.state(), State::slave);
    EXPECT_TRUE(harness.runs(Timer::election));
    EXPECT_FALSE(harness.runs(Timer::loop));
  }
}

TEST(Resign, ChangesNothingElsewhere) {
  for (const State state : {State::startup, State::no_master, State::slave, State::candidate,
                            State::accept, State::consistency}) {
    Harness harness;
    bring_to(harness, state);
    EXPECT_THAT(harness.command(Command::resign), IsEmpty());
    EXPECT_EQ(harness.state(), state);
  }
}

// Its slaves count the old epoch as given up: the next mastership needs one of its own.
TEST(Resign, WhoComesBackRulesUnderANewEpoch) {
  Harness harness;
  bring_to(harness, State::master);
  harness.command(Command::resign);
  harness.run_out(Timer::election);
  harness.run_out(Timer::candidate);
  EXPECT_EQ(harness.allegiance(), "leads 11");
}

TEST(Conflict, EndsUnderTheSameEpoch) {
  Harness harness;
  bring_to(harness, State::conflict);
  harness.run_out(Timer::conflict);
  EXPECT_EQ(harness.state(), State::master);
  EXPECT_EQ(harness.machine().followed().round, 10U);
}

TEST(Claim, MakesAMasterOfASlaveOnly) {
  for (const State state : kAllStates) {
    Harness harness;
    bring_to(harness, state);
    const auto lines = harness.command(Command::claim);
    if (state == State::slave) {
      EXPECT_THAT(lines, ElementsAre("masterup to all"));
      EXPECT_EQ(harness.allegiance(), "leads 11");
    } else {
      EXPECT_THAT(lines, IsEmpty());
      EXPECT_EQ(harness.state(), state);
    }
  }
}

TEST(NeverLeads, AsksAgainInsteadOfRuling) {
  Harness harness("lan", 0, {}, kNeverLeads);
  harness.start();
  harness.run_out(Timer::startup);
  EXPECT_EQ(harness.state(), State::no_master);
  EXPECT_THAT(harness.run_out(Timer::no_master), ElementsAre("masterreq to all"));
  EXPECT_EQ(harness.state(), State::startup);
}

TEST(NeverLeads, IsPatientForEver) {
  Harness harness("lan", 0, {}, kNeverLeads);
  bring_to(harness, State::slave);
  EXPECT_THAT(harness.run_out(Timer::election), IsEmpty());
  EXPECT_EQ(harness.state(), State::slave);
  EXPECT_TRUE(harness.runs(Timer::election));
  EXPECT_THAT(harness.command(Command::stand), IsEmpty());
  EXPECT_THAT(harness.command(Command::claim), IsEmpty());
  EXPECT_EQ(harness.state(), State::slave);
}

TEST(NeverLeads, DoesNotStandThoughNamedHeir) {
  Harness harness("lan", 0, {}, kNeverLeads);
  bring_to(harness, State::slave);
  Peer master = old_master();
  Message heir;
  heir.subject = kSelf;
  harness.receive(master, Kind::loop, heir);
  Message gone;
  gone.subject = master.id;
  gone.subject_incarnation = master.life;
  Peer parent = peer(4);
  harness.receive(parent, Kind::masterdown, gone);
  EXPECT_EQ(harness.state(), State::slave);
}

TEST(StayOut, AMasterResignsAndComesBackWillingOnlyWhenTold) {
  Harness harness;
  bring_to(harness, State::master);
  EXPECT_THAT(harness.command(Command::stay_out), ElementsAre("masterdown to all"));
  EXPECT_EQ(harness.machine().reluctance(), kNeverLeads);
  harness.run_out(Timer::election);
  EXPECT_EQ(harness.state(), State::slave);
  harness.command(Command::come_back);
  EXPECT_EQ(harness.machine().reluctance(), kGlad);
  harness.run_out(Timer::election);
  EXPECT_EQ(harness.state(), State::candidate);
}

TEST(StayOut, ACandidateWithdraws) {
  Harness harness;
  bring_to(harness, State::candidate);
  harness.command(Command::stay_out);
  EXPECT_EQ(harness.state(), State::slave);
}

TEST(Reluctance, LetsOthersGoFirst) {
  Harness glad;
  Harness reluctant("lan", 0, {}, Reluctance{2});
  for (Harness* harness : {&glad, &reluctant}) bring_to(*harness, State::slave);
  const Nanos width = glad.timing().election_max - glad.timing().election_min;
  EXPECT_EQ(reluctant.left(Timer::election), glad.left(Timer::election) + 2 * width);

  Harness starts("lan", 0, {}, Reluctance{2});
  bring_to(starts, State::no_master);
  EXPECT_EQ(starts.left(Timer::no_master),
            starts.timing().no_master + 2 * (starts.timing().startup + starts.timing().no_master));
}

TEST(Reluctance, TheHeirIsGladToLead) {
  Harness harness;
  bring_to(harness, State::master);
  Peer glad = peer(3);
  Peer reluctant = peer(7);
  Message with;
  with.reluctance = Reluctance{1};
  harness.receive(glad, Kind::slaveup);
  harness.receive(reluctant, Kind::slaveup, with);
  harness.run_out(Timer::loop);
  EXPECT_EQ(harness.sent(Kind::loop).subject, glad.id);
  // It has changed its mind.
  harness.receive(reluctant, Kind::slaveup);
  harness.run_out(Timer::loop);
  EXPECT_EQ(harness.sent(Kind::loop).subject, reluctant.id);
}

TEST(Reluctance, IsInEveryMessage) {
  Harness harness("lan", 0, {}, Reluctance{3});
  harness.start();
  EXPECT_EQ(harness.sent(Kind::masterreq).reluctance, Reluctance{3});
  Peer master = master_of(10, 9);
  harness.receive(master, Kind::masterup);
  EXPECT_EQ(harness.sent(Kind::slaveup).reluctance, Reluctance{3});
}

}  // namespace
}  // namespace tempo::election
