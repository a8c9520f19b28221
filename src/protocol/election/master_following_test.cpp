// A slave: its election timeout, its behaviour when the master overlooks it, and crash hints.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/election/master_test_harness.h"

namespace tempo::election {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// --- election timeout ---

TEST(ElectionTimeout, IsDrawnOnceAndRestartedWithTheSameValue) {
  Harness harness;
  harness.draw_share(0.25);
  bring_to(harness, State::slave);
  harness.draw_share(0.75);
  Peer master = old_master();
  for (const Kind kind :
       {Kind::adjtime, Kind::settime, Kind::masterup, Kind::loop, Kind::resolve, Kind::quit}) {
    harness.sleep(100ms);
    harness.receive(master, kind);
    EXPECT_EQ(harness.left(Timer::election), 3125ms) << name_of(kind);
  }
  Peer newer = master_of(11, 6);
  harness.receive(newer, Kind::loop);
  EXPECT_EQ(harness.left(Timer::election), 4375ms) << "a new master: a new draw";
}

TEST(ElectionTimeout, IgnoresMasterreqAndOtherNodes) {
  Harness harness;
  bring_to(harness, State::slave);
  const Nanos timeout = harness.left(Timer::election);
  harness.sleep(100ms);
  Peer other = peer(4);
  for (const Kind kind :
       {Kind::masterreq, Kind::slaveup, Kind::accept, Kind::refuse, Kind::conflict, Kind::stale}) {
    harness.receive(other, kind);
    EXPECT_EQ(harness.left(Timer::election), timeout - 100ms) << name_of(kind);
  }
  Peer lower = master_of(9, 6);
  harness.receive(lower, Kind::loop);
  EXPECT_EQ(harness.left(Timer::election), timeout - 100ms) << "a Loop of a lower epoch";
}

// --- overlooked by the master; giving it up ---

TEST(Overlooked, SlaveReportsAfterTwoIntervalsAndFourTimesInEach) {
  Harness harness;
  bring_to(harness, State::slave);
  Peer master = old_master();
  const Instant followed = harness.now();
  std::vector<Nanos> reports;
  while (harness.now() < followed + 4s) {
    harness.sleep(10ms);
    const auto lines = harness.receive(master, Kind::loop);
    if (!lines.empty()) {
      EXPECT_THAT(lines, ElementsAre("slaveup to 9"));
      reports.push_back(harness.now() - followed);
    }
  }
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports.front(), 2s);
  EXPECT_THAT(reports,
              ElementsAre(2000ms, 2250ms, 2500ms, 2750ms, 3000ms, 3250ms, 3500ms, 3750ms, 4000ms));
}

TEST(Overlooked, ACorrectionDelaysTheReportByTwoIntervals) {
  Harness harness;
  bring_to(harness, State::slave);
  Peer master = old_master();
  harness.sleep(1s);
  harness.receive(master, Kind::adjtime);
  harness.sleep(2s - 1ns);
  EXPECT_THAT(harness.receive(master, Kind::loop), IsEmpty());
  harness.sleep(1ns);
  EXPECT_THAT(harness.receive(master, Kind::loop), ElementsAre("slaveup to 9"));
}

// A wrong firewall rule: the master's messages arrive here, ours do not arrive there.
TEST(GivenUp, AfterEightIntervalsWithoutAMessageToThisNode) {
  for (const Kind kind : {Kind::loop, Kind::masterup, Kind::resolve}) {
    Harness harness;
    bring_to(harness, State::slave);
    Peer master = old_master();
    const Nanos timeout = harness.left(Timer::election);
    harness.sleep(8s - 1ns);
    harness.receive(master, kind);
    EXPECT_EQ(harness.left(Timer::election), timeout) << name_of(kind);
    harness.sleep(1ns);
    harness.receive(master, kind);
    EXPECT_EQ(harness.left(Timer::election), timeout - 1ns) << name_of(kind);
  }
}

TEST(GivenUp, BeaconEndsNeitherCandidateNorAccept) {
  for (const State state : {State::candidate, State::accept}) {
    for (const Kind kind : {Kind::loop, Kind::masterup, Kind::resolve}) {
      Harness harness;
      bring_to(harness, State::slave);
      Peer master = old_master();
      harness.sleep(8s);
      Peer other = peer(4);
      other.last = 100;
      if (state == State::candidate)
        harness.command(Command::stand);
      else
        harness.receive(other, Kind::election);
      ASSERT_EQ(harness.state(), state);
      EXPECT_THAT(harness.receive(master, kind), IsEmpty()) << name_of(kind);
      EXPECT_EQ(harness.state(), state) << name_of(kind);
    }
  }
}

TEST(GivenUp, EndsWithAMessageToThisNode) {
  for (const Kind kind : {Kind::adjtime, Kind::settime, Kind::masterack, Kind::quit}) {
    Harness harness;
    bring_to(harness, State::slave);
    Peer master = old_master();
    const Nanos timeout = harness.left(Timer::election);
    harness.sleep(9s);
    harness.receive(master, kind);
    harness.sleep(10ms);
    harness.receive(master, Kind::loop);
    EXPECT_EQ(harness.left(Timer::election), timeout) << name_of(kind);
  }
}

// A Loop is a broadcast and does not prove that the master receives our messages.
TEST(GivenUp, LoopsDoNotDelayIt) {
  Harness harness;
  bring_to(harness, State::slave);
  Peer master = old_master();
  for (int i = 0; i < 32; ++i) {
    harness.sleep(250ms);
    harness.receive(master, Kind::loop);
  }
  const Nanos left = harness.left(Timer::election);
  harness.sleep(250ms);
  harness.receive(master, Kind::loop);
  EXPECT_EQ(harness.left(Timer::election), left - 250ms);
}

// --- crash hints ---

Message crash_of(const Peer& node) {
  Message hint;
  hint.subject = node.id;
  hint.subject_incarnation = node.incarnation;
  return hint;
}

// Brings the node to slave and delivers a Loop that names this heir.
void follow_with_heir(Harness& harness, NodeId heir) {
  bring_to(harness, State::slave);
  Peer master = old_master();
  Message loop;
  loop.subject = heir;
  harness.receive(master, Kind::loop, loop);
  ASSERT_EQ(harness.machine().heir(), heir);
}

TEST(CrashHint, MakesTheHeirStandAtOnce) {
  Harness harness;
  follow_with_heir(harness, kSelf);
  Peer parent = old_master();
  EXPECT_THAT(harness.receive(parent, Kind::masterdown, crash_of(parent)),
              ElementsAre("election to all"));
  EXPECT_EQ(harness.state(), State::candidate);
}

TEST(CrashHint, MakesOtherSlavesWaitTwoCandidateTimesAndADraw) {
  for (const auto& [share, wait] : {std::pair{0.0, 400ms}, {1.0, 2900ms}}) {
    Harness harness;
    follow_with_heir(harness, NodeId{5});
    harness.draw_share(share);
    Peer parent = old_master();
    EXPECT_THAT(harness.receive(parent, Kind::masterdown, crash_of(parent)), IsEmpty());
    EXPECT_EQ(harness.state(), State::slave);
    EXPECT_EQ(harness.left(Timer::election), wait);
  }
}

TEST(CrashHint, MakesAllDrawFromHalfTheWidthWithoutAnHeir) {
  for (const auto& [share, wait] : {std::pair{0.0, 0ms}, {1.0, 1250ms}}) {
    Harness harness;
    bring_to(harness, State::slave);
    harness.draw_share(share);
    Peer parent = old_master();
    harness.receive(parent, Kind::masterdown, crash_of(parent));
    EXPECT_EQ(harness.left(Timer::election), wait);
  }
}

// A hint counts only for the incarnation followed: tempod's parent knows the one that ended.
TEST(CrashHint, IsIgnoredForAnotherIncarnationOrAnotherNode) {
  Harness harness;
  follow_with_heir(harness, kSelf);
  Peer parent = old_master();
  Message earlier = crash_of(parent);
  earlier.subject_incarnation = Incarnation{508};
  EXPECT_THAT(harness.receive(parent, Kind::masterdown, earlier), IsEmpty());
  Message other = crash_of(parent);
  other.subject = NodeId{4};
  EXPECT_THAT(harness.receive(parent, Kind::masterdown, other), IsEmpty());
  EXPECT_EQ(harness.state(), State::slave);
  EXPECT_EQ(harness.left(Timer::election), 3750ms);
}

TEST(CrashHint, AffectsSlavesOnly) {
  for (const State state : kAllStates) {
    Harness harness;
    bring_to(harness, state);
    Peer parent = peer(9);
    const std::string before = harness.packed_now();
    EXPECT_THAT(harness.receive(parent, Kind::masterdown, crash_of(parent)), IsEmpty());
    EXPECT_EQ(harness.packed_now() != before, state == State::slave) << name_of(state);
  }
}

// A Loop still in flight does not undo the hint; a live master's Quit does.
TEST(CrashHint, GivesTheMasterUpForOneAcceptTime) {
  Harness harness;
  follow_with_heir(harness, NodeId{5});
  harness.draw_share(1);
  Peer master = old_master();
  master.last += 10;
  harness.receive(master, Kind::masterdown, crash_of(master));
  ASSERT_EQ(harness.left(Timer::election), 2900ms);
  harness.sleep(1s - 1ns);
  harness.receive(master, Kind::loop);
  EXPECT_EQ(harness.left(Timer::election), 1900ms + 1ns);
  harness.sleep(1ns);
  harness.receive(master, Kind::loop);
  EXPECT_EQ(harness.left(Timer::election), 3750ms) << "the master is alive";
}

TEST(CrashHint, IsUndoneByAQuitOfTheMaster) {
  Harness harness;
  follow_with_heir(harness, kSelf);
  Peer master = old_master();
  master.last += 10;
  harness.receive(master, Kind::masterdown, crash_of(master));
  ASSERT_EQ(harness.state(), State::candidate);
  const Sequence election = harness.sent(Kind::election).sequence;
  harness.receive(master, Kind::loop);
  ASSERT_EQ(harness.state(), State::candidate) << "given up for now";
  harness.receive(master, Kind::quit, answering(election));
  EXPECT_EQ(harness.state(), State::slave);
  harness.sleep(10ms);
  harness.receive(master, Kind::loop);
  EXPECT_EQ(harness.left(Timer::election), 3750ms);
}

TEST(CrashHint, IsImpliedByAMasterreqOfARestartedMaster) {
  Harness heir;
  follow_with_heir(heir, kSelf);
  Peer again = peer(9);
  again.incarnation = Incarnation{600};
  EXPECT_THAT(heir.receive(again, Kind::masterreq), ElementsAre("election to all"));
  Harness other;
  follow_with_heir(other, NodeId{5});
  other.draw_share(0);
  other.receive(again, Kind::masterreq);
  EXPECT_EQ(other.left(Timer::election), 400ms);
  // A Masterreq of the incarnation followed is old.
  Harness same;
  follow_with_heir(same, kSelf);
  Peer master = old_master();
  EXPECT_THAT(same.receive(master, Kind::masterreq), IsEmpty());
  EXPECT_EQ(same.state(), State::slave);
}

}  // namespace
}  // namespace tempo::election
