// Section 12 of the lease lock's specification, row by row.
#include "protocol/group/leadership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/field_mutator.h"
#include "protocol/group/leadership_test_stage.h"

namespace tempo::groups {
namespace {

using Kind = Command::Kind;
using Stage = LeadershipStage;

TEST(Leadership, OfASilentLeaderIsPutToElection) {  // row 1
  Stage stage;
  EXPECT_EQ(stage.stand(100), "offer 100; says 100");
  EXPECT_EQ(stage.leads(3, 6), "follow 3");
  EXPECT_EQ(stage.pass(Stage::kRules.lease - 1ns), "");
  EXPECT_EQ(stage.pass(1ns), "hold; says 100; follow nobody");
}

TEST(Leadership, OfALeaderThatSaysItIsOneNoMoreIsPutToElection) {  // row 1
  Stage stage;
  stage.stand(100);
  stage.leads(3, 6);
  EXPECT_EQ(stage.receive(3, {.capacity = 100}), "hold; says 100; follow nobody");
}

TEST(Leadership, IsAskedForByTheElected) {  // rows 2 and 6
  Stage stage;
  stage.stand(100);
  EXPECT_EQ(stage.pass(1s), "hold; says 100");
  EXPECT_EQ(stage.elected(5), "ask; says 100 asks");
  EXPECT_EQ(stage.machine().state(), State::ask);
  EXPECT_EQ(stage.granted(7), "lead 7; says 100 leads 7");
  EXPECT_EQ(stage.machine().leader(), NodeId{5});
}

TEST(Leadership, IsAwaitedByTheOthersInTheOrderOfTheirRank) {  // rows 3, 4 and 5
  Stage stage;
  stage.stand(100);
  stage.receive(1, {.capacity = 300});
  stage.receive(2, {.capacity = 200});
  stage.receive(3, {.capacity = 50});
  stage.receive(6, {.capacity = 100});  // of equals the larger number is better
  stage.pass(1s);
  EXPECT_EQ(stage.elected(1), "says 100");
  EXPECT_EQ(stage.pass(3 * Stage::kRules.patience() - 1ns), "");
  EXPECT_EQ(stage.pass(1ns), "ask; says 100 asks");
  EXPECT_EQ(stage.leads(1, 8), "drop; says 100; follow 1") << "row 7";
  EXPECT_EQ(stage.machine().state(), State::follow);
}

TEST(Leadership, IsAwaitedWhereNobodySaysWhoWasElected) {  // rows 3 and 5
  Stage stage;
  stage.stand(100);
  stage.receive(1, {.capacity = 50});
  stage.pass(1s);
  EXPECT_EQ(stage.command(Command::Kind::defeated), "says 100");
  EXPECT_EQ(stage.machine().state(), State::stand_by);
  EXPECT_EQ(stage.pass(Stage::kRules.patience()), "ask; says 100 asks");
}

TEST(Leadership, WithoutAMajorityIsPutToElectionAgain) {  // row 8
  Stage stage;
  stage.stand(100);
  stage.pass(1s);
  stage.elected(5);
  EXPECT_EQ(stage.pass(Stage::kRules.no_majority()), "no majority; drop; hold; says 100");
}

TEST(Leadership, OfOneThatIsClearlyOutdoneIsHandedOver) {  // row 9
  Stage stage;
  stage.reign(100);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(stage.receive(2, {.capacity = 111, .asks = true}), "") << "min_stay";
    stage.pass(1s);
  }
  EXPECT_EQ(stage.receive(2, {.capacity = 111}), "") << "invited, it must ask first";
  EXPECT_EQ(stage.receive(3, {.capacity = 111, .asks = true}), "") << "another does not count";
  EXPECT_EQ(stage.receive(2, {.capacity = 111, .asks = true}), "stop; says 100 leads 7 heir 2");
  EXPECT_EQ(stage.command(Kind::stopped), "drop; says 100 heir 2; follow nobody");
  EXPECT_EQ(stage.leads(2, 8), "follow 2");
}

TEST(Leadership, IsNotLostToOneThatIsBetterByLessOrOnlyForAMoment) {
  Stage stage;
  stage.reign(100);
  stage.pass(20s);
  stage.receive(2, {.capacity = 110});
  stage.pass(3s);
  EXPECT_EQ(stage.receive(2, {.capacity = 110, .asks = true}), "");
  stage.receive(2, {.capacity = 200});
  stage.pass(1s);
  stage.receive(2, {.capacity = 100});
  stage.pass(3s);
  EXPECT_EQ(stage.receive(2, {.capacity = 100, .asks = true}), "");
  EXPECT_EQ(stage.machine().state(), State::lead);
}

TEST(Leadership, GoesOnIfTheInvitedDoesNotAsk) {
  Stage stage;
  stage.reign(100);
  stage.pass(20s);
  stage.receive(2, {.capacity = 200});
  stage.pass(Stage::kRules.hold());
  stage.pass(Stage::kRules.invitation());
  EXPECT_EQ(stage.receive(2, {.capacity = 200, .asks = true}), "") << "too late";
}

TEST(Leadership, GoesOnIfTheInvitedIsNoBetterAnyMore) {
  Stage stage;
  stage.reign(100);
  stage.pass(20s);
  stage.receive(2, {.capacity = 200});
  stage.pass(Stage::kRules.hold());
  EXPECT_EQ(stage.receive(2, {.capacity = 105, .asks = true}), "");
  EXPECT_EQ(stage.machine().state(), State::lead);
  stage.pass(Stage::kRules.leaders_words());
  EXPECT_EQ(stage.receive(2, {.capacity = 200, .asks = true}), "") << "not invited any more";
}

TEST(Leadership, IsTakenByWhomTheLeaderInvites) {
  Stage stage;
  stage.stand(100);
  stage.leads(3, 6);
  EXPECT_EQ(stage.leads(3, 6, 5), "ask; says 100 asks");
  EXPECT_EQ(stage.leads(3, 6, 5), "") << "it waits for the lease";
  EXPECT_EQ(stage.leads(3, 6), "drop; says 100") << "the leader has thought better of it";
}

TEST(Leadership, ThatIsResignedGoesToTheBest) {  // row 10
  Stage stage;
  stage.reign(100);
  stage.receive(2, {.capacity = 20});
  stage.receive(3, {.capacity = 30});
  EXPECT_EQ(stage.command(Kind::resign), "stop; says leads 7 heir 3");
  EXPECT_EQ(stage.command(Kind::stopped), "offer -1; drop; says heir 3; follow nobody");
  EXPECT_FALSE(stage.machine().stands()) << "for a while";
  EXPECT_EQ(stage.pass(Stage::kMinStay), "offer 100; says 100");
}

TEST(Leadership, OfOneThatResignedMustNotBeWonAgainByLeavingAndComing) {
  Stage stage;
  stage.reign(100);
  stage.command(Kind::resign);
  EXPECT_EQ(stage.command(Kind::withdraw), "offer -1; drop; says; follow nobody");
  EXPECT_EQ(stage.stand(100), "says");
  EXPECT_EQ(stage.machine().state(), State::rest);
  EXPECT_EQ(stage.pass(Stage::kMinStay), "offer 100; says 100");
}

TEST(Leadership, OfADeadUserGoesToTheBest) {  // row 10
  Stage stage;
  stage.reign(100);
  stage.receive(2, {.capacity = 20});
  EXPECT_EQ(stage.command(Kind::withdraw), "offer -1; drop; says heir 2; follow nobody");
}

TEST(Leadership, ThatIsLostIsPutToElection) {  // row 11
  Stage stage;
  stage.reign(100);
  EXPECT_EQ(stage.command(Kind::lost), "lost; hold; says 100; follow nobody");
}

TEST(Leadership, LostThreeTimesMakesOneWaitTwiceAsLong) {
  Stage stage;
  stage.reign(100);
  for (std::uint64_t i = 0; i < 3; ++i) {
    stage.command(Kind::lost);
    stage.elected(5);
    stage.granted(8 + i);
  }
  stage.command(Kind::lost);
  stage.elected(1);
  EXPECT_EQ(stage.pass(2 * Stage::kRules.patience() - 1ns), "");
  EXPECT_EQ(stage.pass(1ns), "ask; says 100 asks");
}

TEST(Leadership, RestsOnCapacitiesThatChangeSeldom) {
  Stage stage;
  stage.stand(100);
  stage.leads(3, 6);
  EXPECT_EQ(stage.offer(500), "") << "not before min_stay";
  EXPECT_EQ(stage.machine().capacity(), 100);
  for (int i = 0; i < 20; ++i) {
    stage.pass(500ms);
    stage.leads(3, 6);
  }
  EXPECT_EQ(stage.machine().capacity(), 500);
  stage.command(Kind::withdraw);
  stage.stand(900);
  EXPECT_EQ(stage.machine().capacity(), 500) << "who leaves and comes is the same";
}

TEST(Leadership, IsNotBelievedOfAnOldTerm) {
  Stage stage;
  stage.stand(100);
  stage.leads(3, 9);
  EXPECT_EQ(stage.leads(4, 8), "");
  EXPECT_EQ(stage.machine().leader(), NodeId{3});
}

TEST(Leadership, AResultDoesNotCountWhileALeaderIsHeard) {
  Stage stage;
  stage.stand(100);
  stage.leads(3, 9);
  EXPECT_EQ(stage.elected(5), "");
  stage.pass(Stage::kRules.doubt());
  EXPECT_EQ(stage.elected(5), "ask; says 100 asks") << "others saw the silence first";
}

TEST(Leadership, AnElectionThatCameToNothingIsDecidedByWhatIsKnown) {
  Stage stage;
  stage.stand(100);
  stage.receive(1, {.capacity = 99});
  stage.pass(1s);
  EXPECT_EQ(stage.pass(Stage::kRules.longest_election()), "ask; says 100 asks");
}

TEST(Leadership, ForOneJobEndsWithIt) {
  Stage stage;
  stage.stand(100, true);
  stage.leads(3, 9);
  stage.pass(500ms);
  EXPECT_EQ(stage.receive(3, {.over = 600ms}), "hold; says 100; follow nobody")
      << "done before this candidate came: not its job";
  Stage other;
  other.stand(100, true);
  other.leads(3, 9);
  other.pass(500ms);
  EXPECT_EQ(other.receive(3, {.over = 100ms}), "offer -1; job done by 3; says; follow nobody");
  EXPECT_EQ(other.machine().state(), State::watch);
}

TEST(Leadership, WhoHasDoneTheJobSaysSoForAWhile) {
  Stage stage;
  stage.stand(100, true);
  stage.pass(1s);
  stage.elected(5);
  stage.granted(7);
  EXPECT_EQ(stage.command(Kind::finish), "offer -1; drop; says over; follow nobody");
  EXPECT_NE(stage.machine().timers().first(), kNever);
  stage.pass(Stage::kRules.repeats_over());
  EXPECT_EQ(stage.machine().timers().first(), kNever);
}

TEST(Leadership, IsForgottenWhenNobodyTakesPart) {
  Stage stage;
  stage.leads(3, 9);
  const Instant later = Instant{Nanos{1'000'000'000'000}} + 10s;
  EXPECT_FALSE(stage.machine().forgettable(later)) << "its leader may be silent for a while";
  stage.pass(10s);
  EXPECT_TRUE(stage.machine().forgettable(later));
}

TEST(Leadership, EveryFieldIsListed) {
  Stage stage;
  stage.reign(100);
  stage.receive(2, {.capacity = 20});
  const Instant now{Nanos{1'000'001'000'000}};
  EXPECT_TRUE(unnoticed_writes(stage.machine(), now).empty());
  EXPECT_EQ(unlisted_bytes(stage.machine()), sizeof(Nanos) + sizeof(int)) << "rules never change";
}

}  // namespace
}  // namespace tempo::groups
