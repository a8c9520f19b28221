// Priorities and nodes that never lead; the commands resign, claim, stay_out and come_back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/election/master_test_harness.h"

namespace tempo::election {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Allegiance, IsReportedWhenItChanges) {
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

TEST(Allegiance, AMasterFollowsANewerMaster) {
  Harness harness;
  bring_to(harness, State::master);
  EXPECT_EQ(harness.allegiance(), "leads 10");
  Peer newer = master_of(15, 3);
  harness.receive(newer, Kind::loop);
  EXPECT_EQ(harness.allegiance(), "follows 3 in 15");
}

TEST(Resign, AMasterSendsMasterdownAndBecomesSlave) {
  for (const State state : {State::master, State::conflict}) {
    Harness harness;
    bring_to(harness, state);
    EXPECT_THAT(harness.command(Command::resign), ElementsAre("masterdown to all"));
    EXPECT_EQ(harness.sent(Kind::masterdown).subject, kSelf);
    EXPECT_EQ(harness.sent(Kind::masterdown).subject_incarnation, kIncarnation);
    EXPECT_EQ(harness.state(), State::slave);
    EXPECT_TRUE(harness.runs(Timer::election));
    EXPECT_FALSE(harness.runs(Timer::loop));
  }
}

TEST(Resign, ChangesNothingInOtherStates) {
  for (const State state : {State::startup, State::no_master, State::slave, State::candidate,
                            State::accept, State::consistency}) {
    Harness harness;
    bring_to(harness, state);
    EXPECT_THAT(harness.command(Command::resign), IsEmpty());
    EXPECT_EQ(harness.state(), state);
  }
}

// The slaves have given the old epoch up, so the next mastership needs a new one.
TEST(Resign, NextMastershipHasANewEpoch) {
  Harness harness;
  bring_to(harness, State::master);
  harness.command(Command::resign);
  harness.run_out(Timer::election);
  harness.run_out(Timer::candidate);
  EXPECT_EQ(harness.allegiance(), "leads 11");
}

TEST(Conflict, EndsWithTheSameEpoch) {
  Harness harness;
  bring_to(harness, State::conflict);
  harness.run_out(Timer::conflict);
  EXPECT_EQ(harness.state(), State::master);
  EXPECT_EQ(harness.machine().followed().round, 10U);
}

TEST(Claim, TurnsOnlyASlaveIntoMaster) {
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

TEST(Ineligible, AsksAgainInsteadOfRuling) {
  Harness harness("lan", 0, {}, kIneligible);
  harness.start();
  harness.run_out(Timer::startup);
  EXPECT_EQ(harness.state(), State::no_master);
  EXPECT_THAT(harness.run_out(Timer::no_master), ElementsAre("masterreq to all"));
  EXPECT_EQ(harness.state(), State::startup);
}

TEST(Ineligible, NeverCallsAnElection) {
  Harness harness("lan", 0, {}, kIneligible);
  bring_to(harness, State::slave);
  EXPECT_THAT(harness.run_out(Timer::election), IsEmpty());
  EXPECT_EQ(harness.state(), State::slave);
  EXPECT_TRUE(harness.runs(Timer::election));
  EXPECT_THAT(harness.command(Command::stand), IsEmpty());
  EXPECT_THAT(harness.command(Command::claim), IsEmpty());
  EXPECT_EQ(harness.state(), State::slave);
}

TEST(Ineligible, DoesNotStandWhenNamedHeir) {
  Harness harness("lan", 0, {}, kIneligible);
  bring_to(harness, State::slave);
  Peer master = old_master();
  Message heir;
  heir.subject = kSelf;
  harness.receive(master, Kind::loop, heir);
  Message hint;
  hint.subject = master.id;
  hint.subject_incarnation = master.incarnation;
  Peer parent = peer(4);
  harness.receive(parent, Kind::masterdown, hint);
  EXPECT_EQ(harness.state(), State::slave);
}

TEST(StayOut, AMasterResignsAndIsEligibleAgainAfterComeBack) {
  Harness harness;
  bring_to(harness, State::master);
  EXPECT_THAT(harness.command(Command::stay_out), ElementsAre("masterdown to all"));
  EXPECT_EQ(harness.machine().priority(), kIneligible);
  harness.run_out(Timer::election);
  EXPECT_EQ(harness.state(), State::slave);
  harness.command(Command::come_back);
  EXPECT_EQ(harness.machine().priority(), kMaxPriority);
  harness.run_out(Timer::election);
  EXPECT_EQ(harness.state(), State::candidate);
}

TEST(StayOut, ACandidateWithdraws) {
  Harness harness;
  bring_to(harness, State::candidate);
  harness.command(Command::stay_out);
  EXPECT_EQ(harness.state(), State::slave);
}

TEST(Priority, DelaysTheCandidacyOfALowerOne) {
  Harness highest;
  Harness lower("lan", 0, {}, Priority{7});
  for (Harness* harness : {&highest, &lower}) bring_to(*harness, State::slave);
  const Nanos width = highest.timing().election_max - highest.timing().election_min;
  EXPECT_EQ(lower.left(Timer::election), highest.left(Timer::election) + 2 * width);

  Harness starts("lan", 0, {}, Priority{7});
  bring_to(starts, State::no_master);
  EXPECT_EQ(starts.left(Timer::no_master),
            starts.timing().no_master + 2 * (starts.timing().startup + starts.timing().no_master));
}

TEST(Priority, HeirHasTheHighest) {
  Harness harness;
  bring_to(harness, State::master);
  Peer highest = peer(3);
  Peer lower = peer(7);
  Message with;
  with.priority = Priority{8};
  harness.receive(highest, Kind::slaveup);
  harness.receive(lower, Kind::slaveup, with);
  harness.run_out(Timer::loop);
  EXPECT_EQ(harness.sent(Kind::loop).subject, highest.id);
  // Its next message announces the highest priority.
  harness.receive(lower, Kind::slaveup);
  harness.run_out(Timer::loop);
  EXPECT_EQ(harness.sent(Kind::loop).subject, lower.id);
}

TEST(Priority, IsInEveryMessage) {
  Harness harness("lan", 0, {}, Priority{6});
  harness.start();
  EXPECT_EQ(harness.sent(Kind::masterreq).priority, Priority{6});
  Peer master = master_of(10, 9);
  harness.receive(master, Kind::masterup);
  EXPECT_EQ(harness.sent(Kind::slaveup).priority, Priority{6});
}

}  // namespace
}  // namespace tempo::election
