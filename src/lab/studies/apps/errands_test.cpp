// King, Gendreau, Ni 1988, section 7: group server, load balancing and crash recovery, each of a
// member alone; the whole is in lab/sim/apps.
#include "lab/studies/apps/errands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/field_mutator.h"
#include "lab/studies/apps/apps_test_desk.h"
#include "lab/studies/apps/crash_recovery.h"
#include "lab/studies/apps/group_server.h"
#include "lab/studies/apps/load_balancing.h"

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
  Desk<GroupServer> desk;
  desk.order(Command::ask(1));
  desk.order(Command::ask(1));
  const auto said = desk.said();
  ASSERT_THAT(said, SizeIs(2));
  EXPECT_EQ(said[0].kind, ErrandWord::Kind::task);
  EXPECT_NE(said[0].task, said[1].task) << "two requests, two names";
}

TEST(GroupServer, HoldsAnElectionWithItsWorth) {
  Desk<GroupServer> desk;
  desk.order(Command::offer(42));
  desk.receive(kOther, task(kTask));
  const auto offers = desk.noted(Kind::offer);
  ASSERT_THAT(offers, SizeIs(1));
  EXPECT_EQ(offers[0].value, 42U);
  desk.receive(kOther, task(kTask + 1));
  EXPECT_THAT(desk.noted(Kind::hold), IsEmpty()) << "one request at a time";
}

TEST(GroupServer, TheElectedAnswersOthersDoNot) {
  Desk<GroupServer> desk;
  desk.receive(kOther, task(kTask));
  desk.elect(kSelf);
  desk.pass(kWorkAndWait - 1ns);
  EXPECT_THAT(desk.said(), IsEmpty()) << "others may not know yet that it is elected";
  desk.pass(1ns);
  EXPECT_THAT(desk.said(), ElementsAre(done(kTask)));

  Desk<GroupServer> other;
  other.receive(kOther, task(kTask));
  other.elect(kOther);
  other.pass(kWorkAndWait);
  EXPECT_THAT(other.said(), IsEmpty());
}

TEST(GroupServer, ElectsAgainWhenNoAnswerIsHeard) {
  Desk<GroupServer> desk;
  desk.receive(kOther, task(kTask));
  desk.elect(kOther);
  desk.noted(Kind::hold);
  desk.pass(usual_rules().patience() - 1ns);
  EXPECT_THAT(desk.noted(Kind::hold), IsEmpty());
  desk.pass(1ns);
  EXPECT_THAT(desk.noted(Kind::hold), SizeIs(1));
  desk.receive(kOther, done(kTask));
  EXPECT_EQ(desk.duty().timers().first(), kNever) << "nothing is left to be done";
}

TEST(GroupServer, NaiveForgetsTheRequest) {
  Rules rules = usual_rules();
  rules.naive = true;
  Desk<GroupServer> desk(rules);
  desk.receive(kOther, task(kTask));
  desk.elect(kOther);
  desk.noted(Kind::hold);
  desk.pass(rules.patience());
  EXPECT_THAT(desk.noted(Kind::hold), IsEmpty());
}

TEST(GroupServer, ASecondAnswerDoesNotCount) {
  Desk<GroupServer> desk;
  desk.receive(kOther, task(kTask));
  desk.elect(kOther);
  desk.receive(kOther, done(kTask));
  EXPECT_THAT(desk.noted(Kind::done), SizeIs(1));
  desk.receive(NodeId{0}, done(kTask));
  EXPECT_THAT(desk.noted(Kind::done), IsEmpty());
}

TEST(GroupServer, WorksOnNoLongerWhenTheNetworkBroke) {
  Desk<GroupServer> desk;
  desk.receive(kOther, task(kTask));
  desk.elect(kSelf);
  desk.order(Command::give_up());
  EXPECT_THAT(desk.noted(Kind::give_up), SizeIs(1));
  desk.pass(kWorkAndWait);
  EXPECT_THAT(desk.said(), IsEmpty());
}

TEST(CrashRecovery, GoesOnWhereTheDeadWasHeard) {
  Desk<CrashRecovery> desk;
  desk.receive(kOther, task(kTask, 3));
  desk.elect(kOther, 1);
  desk.receive(kOther, done(kTask, 1));
  desk.pass(usual_rules().patience());
  desk.elect(kSelf, 2);
  desk.pass(kWorkAndWait);
  EXPECT_THAT(desk.said(), ElementsAre(done(kTask, 2)));
  desk.receive(kSelf, done(kTask, 2));
  desk.pass(usual_rules().work);
  EXPECT_THAT(desk.said(), ElementsAre(done(kTask, 3))) << "it stays in charge";
}

TEST(CrashRecovery, NaiveBeginsAnew) {
  Rules rules = usual_rules();
  rules.naive = true;
  Desk<CrashRecovery> desk(rules);
  desk.receive(kOther, task(kTask, 3));
  desk.elect(kOther, 1);
  desk.receive(kOther, done(kTask, 1));
  desk.elect(kSelf, 2);
  desk.pass(kWorkAndWait);
  EXPECT_THAT(desk.said(), ElementsAre(done(kTask, 1)));
}

TEST(CrashRecovery, NoStepIsTakenTwiceOrTooEarly) {
  Desk<CrashRecovery> desk;
  desk.receive(kOther, task(kTask, 3));
  desk.elect(kOther);
  desk.receive(kOther, done(kTask, 2));
  EXPECT_THAT(desk.noted(Kind::done), IsEmpty());
  desk.receive(kOther, done(kTask, 1));
  desk.receive(kOther, done(kTask, 1));
  EXPECT_THAT(desk.noted(Kind::done), SizeIs(1));
}

std::uint64_t offered(Desk<LoadBalancing>& desk, std::uint64_t name) {
  desk.noted(Kind::offer);
  desk.receive(kOther, task(name, 3));
  const auto offers = desk.noted(Kind::offer);
  CHECK(offers.size() == 1);
  return offers[0].value;
}
void take_a_job_of_three(Desk<LoadBalancing>& desk) {
  desk.elect(kSelf);
  desk.receive(kSelf, done(kTask));
}

TEST(LoadBalancing, AJobWeighsUntilItEnds) {
  Desk<LoadBalancing> desk;
  const std::uint64_t idle = offered(desk, kTask);
  take_a_job_of_three(desk);
  EXPECT_EQ(offered(desk, kTask + 1), idle - 3);
  desk.receive(kOther, done(kTask + 1));
  // Ten T until it runs, twenty for each unit of its size.
  desk.pass((10 + 3 * 20) * kBound - 1ns);
  EXPECT_EQ(offered(desk, kTask + 2), idle - 3);
  desk.receive(kOther, done(kTask + 2));
  desk.pass(1ns);
  EXPECT_EQ(offered(desk, kTask + 3), idle);
}

TEST(LoadBalancing, NaiveItWeighsOnlyWhenItRuns) {
  Rules rules = usual_rules();
  rules.naive = true;
  Desk<LoadBalancing> desk(rules);
  const std::uint64_t idle = offered(desk, kTask);
  take_a_job_of_three(desk);
  EXPECT_EQ(offered(desk, kTask + 1), idle);
  desk.receive(kOther, done(kTask + 1));
  desk.pass(10 * kBound);
  EXPECT_EQ(offered(desk, kTask + 2), idle - 3);
}

TEST(Errands, RefuseMoreThanTheyCanRemember) {
  Desk<GroupServer> desk;
  for (std::uint64_t i = 0; i < 1024; ++i) desk.receive(kOther, task(i));
  EXPECT_THAT(desk.noted(Kind::refused), IsEmpty());
  desk.receive(kOther, task(5000));
  EXPECT_THAT(desk.noted(Kind::refused), SizeIs(1));
}

TEST(Errands, ListEveryField) {
  Desk<LoadBalancing> desk;
  offered(desk, kTask);
  take_a_job_of_three(desk);
  offered(desk, kTask + 1);
  EXPECT_THAT(unnoticed_writes(desk.duty(), desk.now()), IsEmpty());
  EXPECT_EQ(unlisted_bytes(desk.duty()), sizeof(void*)) << "the rules alone";
}

}  // namespace
}  // namespace tempo::apps
