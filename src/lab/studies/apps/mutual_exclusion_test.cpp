// King, Gendreau, Ni 1988, section 7: mutual exclusion, a member alone.
#include "lab/studies/apps/mutual_exclusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/studies/apps/apps_test_harness.h"
#include "machine/field_mutator.h"

namespace tempo::apps {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = Notice::Kind;

constexpr NodeId kOther{2};

std::int64_t last_offer(Harness<MutualExclusion>& harness) {
  const auto offers = harness.noted(Kind::offer);
  CHECK(!offers.empty());
  return static_cast<std::int64_t>(offers.back().value);
}

TEST(MutualExclusion, TheElectedEntersAndLeaves) {
  Harness<MutualExclusion> harness;
  harness.order(Command::ask(1));
  EXPECT_THAT(harness.noted(Kind::hold), SizeIs(1)) << "nobody is inside";
  harness.elect(kSelf);
  EXPECT_TRUE(harness.duty().inside());
  harness.pass(kBound + usual_rules().work - 1ns);
  EXPECT_TRUE(harness.duty().inside());
  harness.pass(1ns);
  EXPECT_FALSE(harness.duty().inside());
  EXPECT_THAT(harness.said(), SizeIs(1)) << "all hear that it left";
}

TEST(MutualExclusion, WhoWantsWaitsUntilTheHolderLeft) {
  Harness<MutualExclusion> harness;
  harness.elect(kOther);
  harness.order(Command::ask(1));
  EXPECT_THAT(harness.noted(Kind::hold), IsEmpty());
  harness.receive(NodeId{0}, {});
  EXPECT_THAT(harness.noted(Kind::hold), IsEmpty()) << "that one was not inside";
  harness.receive(kOther, {});
  EXPECT_THAT(harness.noted(Kind::hold), SizeIs(1));
}

TEST(MutualExclusion, AHolderThatDiedIsMissed) {
  Harness<MutualExclusion> harness;
  harness.elect(kOther);
  harness.order(Command::ask(1));
  harness.pass(usual_rules().patience() - 1ns);
  EXPECT_THAT(harness.noted(Kind::hold), IsEmpty());
  harness.pass(1ns);
  EXPECT_THAT(harness.noted(Kind::hold), SizeIs(1));
}

TEST(MutualExclusion, TheCriterionIsTheTimeSinceTheLastEntry) {
  Harness<MutualExclusion> harness;
  harness.order(Command::ask(1));
  const std::int64_t never_inside = last_offer(harness);
  harness.elect(kSelf);
  EXPECT_EQ(last_offer(harness), kNotCandidate) << "who is inside does not stand";
  const std::int64_t entered = harness.now().time_since_epoch().count();
  harness.pass(5 * kBound);
  harness.receive(kSelf, {});
  harness.order(Command::ask(1));
  EXPECT_EQ(last_offer(harness), never_inside - entered);
}

TEST(MutualExclusion, NaiveTheCriterionIsTheNumber) {
  Rules rules = usual_rules();
  rules.naive = true;
  Harness<MutualExclusion> harness(rules);
  harness.order(Command::ask(1));
  EXPECT_EQ(last_offer(harness), 1);
}

TEST(MutualExclusion, ListsEveryField) {
  Harness<MutualExclusion> harness;
  harness.order(Command::ask(1));
  EXPECT_THAT(unnoticed_writes(harness.duty(), harness.now()), IsEmpty());
  EXPECT_EQ(unlisted_bytes(harness.duty()), sizeof(void*)) << "the rules alone";
}

}  // namespace
}  // namespace tempo::apps
