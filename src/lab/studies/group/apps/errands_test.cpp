// King, Gendreau, Ni 1988, section 7: group server, load balancing and crash recovery at a single
// member; run_test.cpp tests the whole.
#include "lab/studies/group/apps/errands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/studies/group/apps/apps_test_harness.h"
#include "lab/studies/group/apps/crash_recovery.h"
#include "lab/studies/group/apps/group_server.h"
#include "lab/studies/group/apps/load_balancing.h"
#include "machine/field_mutator.h"

namespace tempo::apps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = Notice::Kind;

constexpr NodeId kOther{2};
constexpr std::uint64_t kTask = 77;
constexpr Nanos kWorkAndWait = 3 * kBound;  // T until all members know, and the work

TaskMessage task(std::uint64_t name, std::uint32_t size = 1) {
  return {.kind = TaskMessage::Kind::task, .number = size, .task = name};
}
TaskMessage done(std::uint64_t name, std::uint32_t step = 1) {
  return {.kind = TaskMessage::Kind::done, .number = step, .task = name};
}

TEST(GroupServer, BroadcastsRequests) {
  Harness<GroupServer> harness;
  harness.command(Command::ask(1));
  harness.command(Command::ask(1));
  const auto sent = harness.sent();
  ASSERT_THAT(sent, SizeIs(2));
  EXPECT_EQ(sent[0].kind, TaskMessage::Kind::task);
  EXPECT_NE(sent[0].task, sent[1].task) << "two requests must have two ids";
}

TEST(GroupServer, HoldsAnElectionWithItsCapacity) {
  Harness<GroupServer> harness;
  harness.command(Command::offer(42));
  harness.receive(kOther, task(kTask));
  const auto offers = harness.notices(Kind::offer);
  ASSERT_THAT(offers, SizeIs(1));
  EXPECT_EQ(offers[0].value, 42U);
  harness.receive(kOther, task(kTask + 1));
  EXPECT_THAT(harness.notices(Kind::hold), IsEmpty()) << "one request at a time";
}

TEST(GroupServer, OnlyTheElectedAnswers) {
  Harness<GroupServer> harness;
  harness.receive(kOther, task(kTask));
  harness.elect(kSelf);
  harness.pass(kWorkAndWait - 1ns);
  EXPECT_THAT(harness.sent(), IsEmpty()) << "other members may not know the winner yet";
  harness.pass(1ns);
  EXPECT_THAT(harness.sent(), ElementsAre(done(kTask)));

  Harness<GroupServer> other;
  other.receive(kOther, task(kTask));
  other.elect(kOther);
  other.pass(kWorkAndWait);
  EXPECT_THAT(other.sent(), IsEmpty());
}

TEST(GroupServer, ElectsAgainWithoutAnAnswer) {
  Harness<GroupServer> harness;
  harness.receive(kOther, task(kTask));
  harness.elect(kOther);
  harness.notices(Kind::hold);
  harness.pass(default_rules().patience() - 1ns);
  EXPECT_THAT(harness.notices(Kind::hold), IsEmpty());
  harness.pass(1ns);
  EXPECT_THAT(harness.notices(Kind::hold), SizeIs(1));
  harness.receive(kOther, done(kTask));
  EXPECT_EQ(harness.duty().timers().first(), kNever) << "no work is left";
}

TEST(GroupServer, NaiveVersionForgetsTheRequest) {
  Rules rules = default_rules();
  rules.naive = true;
  Harness<GroupServer> harness(rules);
  harness.receive(kOther, task(kTask));
  harness.elect(kOther);
  harness.notices(Kind::hold);
  harness.pass(rules.patience());
  EXPECT_THAT(harness.notices(Kind::hold), IsEmpty());
}

TEST(GroupServer, IgnoresASecondAnswer) {
  Harness<GroupServer> harness;
  harness.receive(kOther, task(kTask));
  harness.elect(kOther);
  harness.receive(kOther, done(kTask));
  EXPECT_THAT(harness.notices(Kind::done), SizeIs(1));
  harness.receive(NodeId{0}, done(kTask));
  EXPECT_THAT(harness.notices(Kind::done), IsEmpty());
}

TEST(GroupServer, StopsWorkWhenTheBoundsBreak) {
  Harness<GroupServer> harness;
  harness.receive(kOther, task(kTask));
  harness.elect(kSelf);
  harness.command(Command::give_up());
  EXPECT_THAT(harness.notices(Kind::give_up), SizeIs(1));
  harness.pass(kWorkAndWait);
  EXPECT_THAT(harness.sent(), IsEmpty());
}

TEST(CrashRecovery, ContinuesAfterTheLastDeliveredStep) {
  Harness<CrashRecovery> harness;
  harness.receive(kOther, task(kTask, 3));
  harness.elect(kOther, 1);
  harness.receive(kOther, done(kTask, 1));
  harness.pass(default_rules().patience());
  harness.elect(kSelf, 2);
  harness.pass(kWorkAndWait);
  EXPECT_THAT(harness.sent(), ElementsAre(done(kTask, 2)));
  harness.receive(kSelf, done(kTask, 2));
  harness.pass(default_rules().work);
  EXPECT_THAT(harness.sent(), ElementsAre(done(kTask, 3))) << "the coordinator must stay the same";
}

TEST(CrashRecovery, NaiveVersionRestarts) {
  Rules rules = default_rules();
  rules.naive = true;
  Harness<CrashRecovery> harness(rules);
  harness.receive(kOther, task(kTask, 3));
  harness.elect(kOther, 1);
  harness.receive(kOther, done(kTask, 1));
  harness.elect(kSelf, 2);
  harness.pass(kWorkAndWait);
  EXPECT_THAT(harness.sent(), ElementsAre(done(kTask, 1)));
}

TEST(CrashRecovery, IgnoresRepeatedAndEarlySteps) {
  Harness<CrashRecovery> harness;
  harness.receive(kOther, task(kTask, 3));
  harness.elect(kOther);
  harness.receive(kOther, done(kTask, 2));
  EXPECT_THAT(harness.notices(Kind::done), IsEmpty());
  harness.receive(kOther, done(kTask, 1));
  harness.receive(kOther, done(kTask, 1));
  EXPECT_THAT(harness.notices(Kind::done), SizeIs(1));
}

std::uint64_t offered(Harness<LoadBalancing>& harness, std::uint64_t name) {
  harness.notices(Kind::offer);
  harness.receive(kOther, task(name, 3));
  const auto offers = harness.notices(Kind::offer);
  CHECK(offers.size() == 1);
  return offers[0].value;
}
void take_a_job_of_three(Harness<LoadBalancing>& harness) {
  harness.elect(kSelf);
  harness.receive(kSelf, done(kTask));
}

TEST(LoadBalancing, AJobCountsUntilItEnds) {
  Harness<LoadBalancing> harness;
  const std::uint64_t idle = offered(harness, kTask);
  take_a_job_of_three(harness);
  EXPECT_EQ(offered(harness, kTask + 1), idle - 3);
  harness.receive(kOther, done(kTask + 1));
  // Ten T until the job runs, twenty for each unit of its size.
  harness.pass((10 + 3 * 20) * kBound - 1ns);
  EXPECT_EQ(offered(harness, kTask + 2), idle - 3);
  harness.receive(kOther, done(kTask + 2));
  harness.pass(1ns);
  EXPECT_EQ(offered(harness, kTask + 3), idle);
}

TEST(LoadBalancing, InTheNaiveVersionAJobCountsOnlyWhileItRuns) {
  Rules rules = default_rules();
  rules.naive = true;
  Harness<LoadBalancing> harness(rules);
  const std::uint64_t idle = offered(harness, kTask);
  take_a_job_of_three(harness);
  EXPECT_EQ(offered(harness, kTask + 1), idle);
  harness.receive(kOther, done(kTask + 1));
  harness.pass(10 * kBound);
  EXPECT_EQ(offered(harness, kTask + 2), idle - 3);
}

TEST(Errands, RefuseTooManyTasks) {
  Harness<GroupServer> harness;
  for (std::uint64_t i = 0; i < 1024; ++i) harness.receive(kOther, task(i));
  EXPECT_THAT(harness.notices(Kind::refused), IsEmpty());
  harness.receive(kOther, task(5000));
  EXPECT_THAT(harness.notices(Kind::refused), SizeIs(1));
}

TEST(Errands, ListEveryField) {
  Harness<LoadBalancing> harness;
  offered(harness, kTask);
  take_a_job_of_three(harness);
  offered(harness, kTask + 1);
  EXPECT_THAT(unnoticed_writes(harness.duty(), harness.now()), IsEmpty());
}

}  // namespace
}  // namespace tempo::apps
