// Section 12 of the lease lock's specification, row by row.
#include "protocol/group/leadership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/field_mutator.h"
#include "protocol/group/leadership_test_harness.h"

namespace tempo::groups {
namespace {

using Kind = Command::Kind;
using Harness = LeadershipHarness;

TEST(Leadership, CallsAnElectionWhenTheLeaderIsSilent) {  // row 1
  Harness harness;
  EXPECT_EQ(harness.stand(100), "offer 100; says 100");
  EXPECT_EQ(harness.leads(3, 6), "follow 3");
  EXPECT_EQ(harness.pass(Harness::kRules.lease - 1ns), "");
  EXPECT_EQ(harness.pass(1ns), "hold; says 100; follow nobody");
}

TEST(Leadership, CallsAnElectionWhenTheLeaderStepsDown) {  // row 1
  Harness harness;
  harness.stand(100);
  harness.leads(3, 6);
  EXPECT_EQ(harness.receive(3, {.capacity = 100}), "hold; says 100; follow nobody");
}

TEST(Leadership, TheWinnerAsksForTheLease) {  // rows 2 and 6
  Harness harness;
  harness.stand(100);
  EXPECT_EQ(harness.pass(1s), "hold; says 100");
  EXPECT_EQ(harness.elected(5), "ask; says 100 asks");
  EXPECT_EQ(harness.machine().state(), State::ask);
  EXPECT_EQ(harness.granted(7), "lead 7; says 100 leads 7");
  EXPECT_EQ(harness.machine().leader(), NodeId{5});
}

TEST(Leadership, TheOthersWaitByRank) {  // rows 3, 4 and 5
  Harness harness;
  harness.stand(100);
  harness.receive(1, {.capacity = 300});
  harness.receive(2, {.capacity = 200});
  harness.receive(3, {.capacity = 50});
  harness.receive(6, {.capacity = 100});  // of equal candidates the larger number is better
  harness.pass(1s);
  EXPECT_EQ(harness.elected(1), "says 100");
  EXPECT_EQ(harness.pass(3 * Harness::kRules.patience() - 1ns), "");
  EXPECT_EQ(harness.pass(1ns), "ask; says 100 asks");
  EXPECT_EQ(harness.leads(1, 8), "drop; says 100; follow 1") << "row 7";
  EXPECT_EQ(harness.machine().state(), State::follow);
}

TEST(Leadership, WaitsByRankWithoutKnowingTheWinner) {  // rows 3 and 5
  Harness harness;
  harness.stand(100);
  harness.receive(1, {.capacity = 50});
  harness.pass(1s);
  EXPECT_EQ(harness.command(Command::Kind::defeated), "says 100");
  EXPECT_EQ(harness.machine().state(), State::stand_by);
  EXPECT_EQ(harness.pass(Harness::kRules.patience()), "ask; says 100 asks");
}

TEST(Leadership, CallsAnotherElectionWithoutAMajority) {  // row 8
  Harness harness;
  harness.stand(100);
  harness.pass(1s);
  harness.elected(5);
  EXPECT_EQ(harness.pass(Harness::kRules.no_majority()), "no majority; drop; hold; says 100");
}

TEST(Leadership, HandsOverToAClearlyBetterCandidate) {  // row 9
  Harness harness;
  harness.reign(100);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(harness.receive(2, {.capacity = 111, .asks = true}), "") << "min_stay";
    harness.pass(1s);
  }
  EXPECT_EQ(harness.receive(2, {.capacity = 111}), "") << "the invited candidate must ask first";
  EXPECT_EQ(harness.receive(3, {.capacity = 111, .asks = true}), "")
      << "another candidate does not count";
  EXPECT_EQ(harness.receive(2, {.capacity = 111, .asks = true}), "stop; says 100 leads 7 heir 2");
  EXPECT_EQ(harness.command(Kind::stopped), "drop; says 100 heir 2; follow nobody");
  EXPECT_EQ(harness.leads(2, 8), "follow 2");
}

TEST(Leadership, IgnoresCandidatesBetterByLittleOrForAMoment) {
  Harness harness;
  harness.reign(100);
  harness.pass(20s);
  harness.receive(2, {.capacity = 110});
  harness.pass(3s);
  EXPECT_EQ(harness.receive(2, {.capacity = 110, .asks = true}), "");
  harness.receive(2, {.capacity = 200});
  harness.pass(1s);
  harness.receive(2, {.capacity = 100});
  harness.pass(3s);
  EXPECT_EQ(harness.receive(2, {.capacity = 100, .asks = true}), "");
  EXPECT_EQ(harness.machine().state(), State::lead);
}

TEST(Leadership, ContinuesIfTheHeirDoesNotAsk) {
  Harness harness;
  harness.reign(100);
  harness.pass(20s);
  harness.receive(2, {.capacity = 200});
  harness.pass(Harness::kRules.hold());
  harness.pass(Harness::kRules.invitation());
  EXPECT_EQ(harness.receive(2, {.capacity = 200, .asks = true}), "") << "too late";
}

TEST(Leadership, ContinuesIfTheHeirIsNoLongerBetter) {
  Harness harness;
  harness.reign(100);
  harness.pass(20s);
  harness.receive(2, {.capacity = 200});
  harness.pass(Harness::kRules.hold());
  EXPECT_EQ(harness.receive(2, {.capacity = 105, .asks = true}), "");
  EXPECT_EQ(harness.machine().state(), State::lead);
  harness.pass(Harness::kRules.leader_interval());
  EXPECT_EQ(harness.receive(2, {.capacity = 200, .asks = true}), "") << "no longer invited";
}

TEST(Leadership, TheInvitedCandidateAsks) {
  Harness harness;
  harness.stand(100);
  harness.leads(3, 6);
  EXPECT_EQ(harness.leads(3, 6, 5), "ask; says 100 asks");
  EXPECT_EQ(harness.leads(3, 6, 5), "") << "it waits for the lease";
  EXPECT_EQ(harness.leads(3, 6), "drop; says 100") << "the leader has withdrawn the invitation";
}

TEST(Leadership, ResigningInvitesTheBest) {  // row 10
  Harness harness;
  harness.reign(100);
  harness.receive(2, {.capacity = 20});
  harness.receive(3, {.capacity = 30});
  EXPECT_EQ(harness.command(Kind::resign), "stop; says leads 7 heir 3");
  EXPECT_EQ(harness.command(Kind::stopped), "offer -1; drop; says heir 3; follow nobody");
  EXPECT_FALSE(harness.machine().stands()) << "not a candidate for a while";
  EXPECT_EQ(harness.pass(Harness::kMinStay), "offer 100; says 100");
}

TEST(Leadership, ResigningCannotBeUndoneByRejoining) {
  Harness harness;
  harness.reign(100);
  harness.command(Kind::resign);
  EXPECT_EQ(harness.command(Kind::withdraw), "offer -1; drop; says; follow nobody");
  EXPECT_EQ(harness.stand(100), "says");
  EXPECT_EQ(harness.machine().state(), State::rest);
  EXPECT_EQ(harness.pass(Harness::kMinStay), "offer 100; says 100");
}

TEST(Leadership, ADeadUserInvitesTheBest) {  // row 10
  Harness harness;
  harness.reign(100);
  harness.receive(2, {.capacity = 20});
  EXPECT_EQ(harness.command(Kind::withdraw), "offer -1; drop; says heir 2; follow nobody");
}

TEST(Leadership, CallsAnElectionAfterALoss) {  // row 11
  Harness harness;
  harness.reign(100);
  EXPECT_EQ(harness.command(Kind::lost), "lost; hold; says 100; follow nobody");
}

TEST(Leadership, WaitsTwiceAsLongAfterThreeLosses) {
  Harness harness;
  harness.reign(100);
  for (std::uint64_t i = 0; i < 3; ++i) {
    harness.command(Kind::lost);
    harness.elected(5);
    harness.granted(8 + i);
  }
  harness.command(Kind::lost);
  harness.elected(1);
  EXPECT_EQ(harness.pass(2 * Harness::kRules.patience() - 1ns), "");
  EXPECT_EQ(harness.pass(1ns), "ask; says 100 asks");
}

TEST(Leadership, LimitsChangesOfTheCapacity) {
  Harness harness;
  harness.stand(100);
  harness.leads(3, 6);
  EXPECT_EQ(harness.offer(500), "") << "not before min_stay";
  EXPECT_EQ(harness.machine().capacity(), 100);
  for (int i = 0; i < 20; ++i) {
    harness.pass(500ms);
    harness.leads(3, 6);
  }
  EXPECT_EQ(harness.machine().capacity(), 500);
  harness.command(Kind::withdraw);
  harness.stand(900);
  EXPECT_EQ(harness.machine().capacity(), 500) << "rejoining does not reset the limit";
}

TEST(Leadership, IgnoresAnOldTerm) {
  Harness harness;
  harness.stand(100);
  harness.leads(3, 9);
  EXPECT_EQ(harness.leads(4, 8), "");
  EXPECT_EQ(harness.machine().leader(), NodeId{3});
}

TEST(Leadership, IgnoresAResultWhileThereIsALeader) {
  Harness harness;
  harness.stand(100);
  harness.leads(3, 9);
  EXPECT_EQ(harness.elected(5), "");
  harness.pass(Harness::kRules.doubt());
  EXPECT_EQ(harness.elected(5), "ask; says 100 asks") << "others noticed the silence first";
}

TEST(Leadership, KnownCandidatesDecideAnElectionWithoutAResult) {
  Harness harness;
  harness.stand(100);
  harness.receive(1, {.capacity = 99});
  harness.pass(1s);
  EXPECT_EQ(harness.pass(Harness::kRules.longest_election()), "ask; says 100 asks");
}

TEST(Leadership, EndsWithTheOneJob) {
  Harness harness;
  harness.stand(100, true);
  harness.leads(3, 9);
  harness.pass(500ms);
  EXPECT_EQ(harness.receive(3, {.over = 600ms}), "hold; says 100; follow nobody")
      << "done before this candidate stood: another job";
  Harness other;
  other.stand(100, true);
  other.leads(3, 9);
  other.pass(500ms);
  EXPECT_EQ(other.receive(3, {.over = 100ms}), "offer -1; job done by 3; says; follow nobody");
  EXPECT_EQ(other.machine().state(), State::watch);
}

TEST(Leadership, AnnouncesTheFinishedJobForAWhile) {
  Harness harness;
  harness.stand(100, true);
  harness.pass(1s);
  harness.elected(5);
  harness.granted(7);
  EXPECT_EQ(harness.command(Kind::finish), "offer -1; drop; says over; follow nobody");
  EXPECT_NE(harness.machine().timers().first(), kNever);
  harness.pass(Harness::kRules.repeat_job_done());
  EXPECT_EQ(harness.machine().timers().first(), kNever);
}

// The lease of the daemon before the restart: no election decides.
TEST(Leadership, LeadsOnAfterARestart) {
  for (const bool elects : {false, true}) {
    Harness harness;
    harness.stand(100);
    if (elects) harness.pass(1s);
    harness.command({.kind = Kind::resumed, .token = Token{7}});
    EXPECT_EQ(harness.machine().state(), State::lead);
    EXPECT_EQ(harness.machine().term(), Token{7});
    EXPECT_EQ(harness.elected(1), "") << "an election that others held meanwhile";
    EXPECT_EQ(harness.machine().state(), State::lead);
  }
}

TEST(Leadership, IsForgottenWithoutParticipants) {
  Harness harness;
  harness.leads(3, 9);
  const BootTime later = BootTime{Nanos{1'000'000'000'000}} + 10s;
  EXPECT_FALSE(harness.machine().forgettable(later)) << "its leader may be silent for a while";
  harness.pass(10s);
  EXPECT_TRUE(harness.machine().forgettable(later));
}

TEST(Leadership, EveryFieldIsListed) {
  Harness harness;
  harness.reign(100);
  harness.receive(2, {.capacity = 20});
  const BootTime now{Nanos{1'000'001'000'000}};
  EXPECT_TRUE(unnoticed_writes(harness.machine(), now).empty());
}

}  // namespace
}  // namespace tempo::groups
