// King, Gendreau, Ni 1988, section 7: group server, load balancing and crash recovery, each of a
// member alone; the whole is in lab/sim/apps.
#include "lab/studies/apps/errands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/studies/apps/apps_test_harness.h"
#include "lab/studies/apps/crash_recovery.h"
#include "lab/studies/apps/group_server.h"
#include "lab/studies/apps/load_balancing.h"
#include "machine/field_mutator.h"

namespace tempo::apps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = Notice::Kind;

constexpr NodeId kOther{2};
constexpr std::uint64_t kTask = 77;
constexpr Nanos kWorkAndWait = 3 * kBound;  // T until all know, and the work

ErrandWord task(std::uint64_t name, std::uint32_t size = 1) {
  return {.kind = ErrandWord::Kind::task, .number = size, .task = name};
}
ErrandWord done(std::uint64_t name, std::uint32_t step = 1) {
  return {.kind = ErrandWord::Kind::done, .number = step, .task = name};
}

TEST(GroupServer, TellsAllWhatIsAsked) {
  Harness<GroupServer> harness;
  harness.order(Command::ask(1));
  harness.order(Command::ask(1));
  const auto said = harness.said();
  ASSERT_THAT(said, SizeIs(2));
  EXPECT_EQ(said[0].kind, ErrandWord::Kind::task);
  EXPECT_NE(said[0].task, said[1].task) << "two requests, two names";
}

TEST(GroupServer, HoldsAnElectionWithItsWorth) {
  Harness<GroupServer> harness;
  harness.order(Command::offer(42));
  harness.receive(kOther, task(kTask));
  const auto offers = harness.noted(Kind::offer);
  ASSERT_THAT(offers, SizeIs(1));
  EXPECT_EQ(offers[0].value, 42U);
  harness.receive(kOther, task(kTask + 1));
  EXPECT_THAT(harness.noted(Kind::hold), IsEmpty()) << "one request at a time";
}

TEST(GroupServer, TheElectedAnswersOthersDoNot) {
  Harness<GroupServer> harness;
  harness.receive(kOther, task(kTask));
  harness.elect(kSelf);
  harness.pass(kWorkAndWait - 1ns);
  EXPECT_THAT(harness.said(), IsEmpty()) << "others may not know yet that it is elected";
  harness.pass(1ns);
  EXPECT_THAT(harness.said(), ElementsAre(done(kTask)));

  Harness<GroupServer> other;
  other.receive(kOther, task(kTask));
  other.elect(kOther);
  other.pass(kWorkAndWait);
  EXPECT_THAT(other.said(), IsEmpty());
}

TEST(GroupServer, ElectsAgainWhenNoAnswerIsHeard) {
  Harness<GroupServer> harness;
  harness.receive(kOther, task(kTask));
  harness.elect(kOther);
  harness.noted(Kind::hold);
  harness.pass(usual_rules().patience() - 1ns);
  EXPECT_THAT(harness.noted(Kind::hold), IsEmpty());
  harness.pass(1ns);
  EXPECT_THAT(harness.noted(Kind::hold), SizeIs(1));
  harness.receive(kOther, done(kTask));
  EXPECT_EQ(harness.duty().timers().first(), kNever) << "nothing is left to be done";
}

TEST(GroupServer, NaiveForgetsTheRequest) {
  Rules rules = usual_rules();
  rules.naive = true;
  Harness<GroupServer> harness(rules);
  harness.receive(kOther, task(kTask));
  harness.elect(kOther);
  harness.noted(Kind::hold);
  harness.pass(rules.patience());
  EXPECT_THAT(harness.noted(Kind::hold), IsEmpty());
}

TEST(GroupServer, ASecondAnswerDoesNotCount) {
  Harness<GroupServer> harness;
  harness.receive(kOther, task(kTask));
  harness.elect(kOther);
  harness.receive(kOther, done(kTask));
  EXPECT_THAT(harness.noted(Kind::done), SizeIs(1));
  harness.receive(NodeId{0}, done(kTask));
  EXPECT_THAT(harness.noted(Kind::done), IsEmpty());
}

TEST(GroupServer, WorksOnNoLongerWhenTheNetworkBroke) {
  Harness<GroupServer> harness;
  harness.receive(kOther, task(kTask));
  harness.elect(kSelf);
  harness.order(Command::give_up());
  EXPECT_THAT(harness.noted(Kind::give_up), SizeIs(1));
  harness.pass(kWorkAndWait);
  EXPECT_THAT(harness.said(), IsEmpty());
}

TEST(CrashRecovery, GoesOnWhereTheDeadWasHeard) {
  Harness<CrashRecovery> harness;
  harness.receive(kOther, task(kTask, 3));
  harness.elect(kOther, 1);
  harness.receive(kOther, done(kTask, 1));
  harness.pass(usual_rules().patience());
  harness.elect(kSelf, 2);
  harness.pass(kWorkAndWait);
  EXPECT_THAT(harness.said(), ElementsAre(done(kTask, 2)));
  harness.receive(kSelf, done(kTask, 2));
  harness.pass(usual_rules().work);
  EXPECT_THAT(harness.said(), ElementsAre(done(kTask, 3))) << "it stays in charge";
}

TEST(CrashRecovery, NaiveBeginsAnew) {
  Rules rules = usual_rules();
  rules.naive = true;
  Harness<CrashRecovery> harness(rules);
  harness.receive(kOther, task(kTask, 3));
  harness.elect(kOther, 1);
  harness.receive(kOther, done(kTask, 1));
  harness.elect(kSelf, 2);
  harness.pass(kWorkAndWait);
  EXPECT_THAT(harness.said(), ElementsAre(done(kTask, 1)));
}

TEST(CrashRecovery, NoStepIsTakenTwiceOrTooEarly) {
  Harness<CrashRecovery> harness;
  harness.receive(kOther, task(kTask, 3));
  harness.elect(kOther);
  harness.receive(kOther, done(kTask, 2));
  EXPECT_THAT(harness.noted(Kind::done), IsEmpty());
  harness.receive(kOther, done(kTask, 1));
  harness.receive(kOther, done(kTask, 1));
  EXPECT_THAT(harness.noted(Kind::done), SizeIs(1));
}

std::uint64_t offered(Harness<LoadBalancing>& harness, std::uint64_t name) {
  harness.noted(Kind::offer);
  harness.receive(kOther, task(name, 3));
  const auto offers = harness.noted(Kind::offer);
  CHECK(offers.size() == 1);
  return offers[0].value;
}
void take_a_job_of_three(Harness<LoadBalancing>& harness) {
  harness.elect(kSelf);
  harness.receive(kSelf, done(kTask));
}

TEST(LoadBalancing, AJobWeighsUntilItEnds) {
  Harness<LoadBalancing> harness;
  const std::uint64_t idle = offered(harness, kTask);
  take_a_job_of_three(harness);
  EXPECT_EQ(offered(harness, kTask + 1), idle - 3);
  harness.receive(kOther, done(kTask + 1));
  // Ten T until it runs, twenty for each unit of its size.
  harness.pass((10 + 3 * 20) * kBound - 1ns);
  EXPECT_EQ(offered(harness, kTask + 2), idle - 3);
  harness.receive(kOther, done(kTask + 2));
  harness.pass(1ns);
  EXPECT_EQ(offered(harness, kTask + 3), idle);
}

TEST(LoadBalancing, NaiveItWeighsOnlyWhenItRuns) {
  Rules rules = usual_rules();
  rules.naive = true;
  Harness<LoadBalancing> harness(rules);
  const std::uint64_t idle = offered(harness, kTask);
  take_a_job_of_three(harness);
  EXPECT_EQ(offered(harness, kTask + 1), idle);
  harness.receive(kOther, done(kTask + 1));
  harness.pass(10 * kBound);
  EXPECT_EQ(offered(harness, kTask + 2), idle - 3);
}

TEST(Errands, RefuseMoreThanTheyCanRemember) {
  Harness<GroupServer> harness;
  for (std::uint64_t i = 0; i < 1024; ++i) harness.receive(kOther, task(i));
  EXPECT_THAT(harness.noted(Kind::refused), IsEmpty());
  harness.receive(kOther, task(5000));
  EXPECT_THAT(harness.noted(Kind::refused), SizeIs(1));
}

TEST(Errands, ListEveryField) {
  Harness<LoadBalancing> harness;
  offered(harness, kTask);
  take_a_job_of_three(harness);
  offered(harness, kTask + 1);
  EXPECT_THAT(unnoticed_writes(harness.duty(), harness.now()), IsEmpty());
  EXPECT_EQ(unlisted_bytes(harness.duty()), sizeof(void*)) << "the rules alone";
}

}  // namespace
}  // namespace tempo::apps
