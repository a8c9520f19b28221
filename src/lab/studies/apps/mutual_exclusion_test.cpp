// King, Gendreau, Ni 1988, section 7: mutual exclusion, a member alone.
#include "lab/studies/apps/mutual_exclusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/field_mutator.h"
#include "lab/studies/apps/apps_test_desk.h"

namespace tempo::apps {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = Notice::Kind;

constexpr NodeId kOther{2};

std::int64_t last_offer(Desk<MutualExclusion>& desk) {
  const auto offers = desk.noted(Kind::offer);
  CHECK(!offers.empty());
  return static_cast<std::int64_t>(offers.back().value);
}

TEST(MutualExclusion, TheElectedEntersAndLeaves) {
  Desk<MutualExclusion> desk;
  desk.order(Command::ask(1));
  EXPECT_THAT(desk.noted(Kind::hold), SizeIs(1)) << "nobody is inside";
  desk.elect(kSelf);
  EXPECT_TRUE(desk.duty().inside());
  desk.pass(kBound + usual_rules().work - 1ns);
  EXPECT_TRUE(desk.duty().inside());
  desk.pass(1ns);
  EXPECT_FALSE(desk.duty().inside());
  EXPECT_THAT(desk.said(), SizeIs(1)) << "all hear that it left";
}

TEST(MutualExclusion, WhoWantsWaitsUntilTheHolderLeft) {
  Desk<MutualExclusion> desk;
  desk.elect(kOther);
  desk.order(Command::ask(1));
  EXPECT_THAT(desk.noted(Kind::hold), IsEmpty());
  desk.receive(NodeId{0}, {});
  EXPECT_THAT(desk.noted(Kind::hold), IsEmpty()) << "that one was not inside";
  desk.receive(kOther, {});
  EXPECT_THAT(desk.noted(Kind::hold), SizeIs(1));
}

TEST(MutualExclusion, AHolderThatDiedIsMissed) {
  Desk<MutualExclusion> desk;
  desk.elect(kOther);
  desk.order(Command::ask(1));
  desk.pass(usual_rules().patience() - 1ns);
  EXPECT_THAT(desk.noted(Kind::hold), IsEmpty());
  desk.pass(1ns);
  EXPECT_THAT(desk.noted(Kind::hold), SizeIs(1));
}

TEST(MutualExclusion, TheCriterionIsTheTimeSinceTheLastEntry) {
  Desk<MutualExclusion> desk;
  desk.order(Command::ask(1));
  const std::int64_t never_inside = last_offer(desk);
  desk.elect(kSelf);
  EXPECT_EQ(last_offer(desk), kNotCandidate) << "who is inside does not stand";
  const std::int64_t entered = desk.now().time_since_epoch().count();
  desk.pass(5 * kBound);
  desk.receive(kSelf, {});
  desk.order(Command::ask(1));
  EXPECT_EQ(last_offer(desk), never_inside - entered);
}

TEST(MutualExclusion, NaiveTheCriterionIsTheNumber) {
  Rules rules = usual_rules();
  rules.naive = true;
  Desk<MutualExclusion> desk(rules);
  desk.order(Command::ask(1));
  EXPECT_EQ(last_offer(desk), 1);
}

TEST(MutualExclusion, ListsEveryField) {
  Desk<MutualExclusion> desk;
  desk.order(Command::ask(1));
  EXPECT_THAT(unnoticed_writes(desk.duty(), desk.now()), IsEmpty());
  EXPECT_EQ(unlisted_bytes(desk.duty()), sizeof(void*)) << "the rules alone";
}

}  // namespace
}  // namespace tempo::apps
