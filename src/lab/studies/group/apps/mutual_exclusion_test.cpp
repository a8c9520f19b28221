// King, Gendreau, Ni 1988, section 7: mutual exclusion, at a single member.
#include "lab/studies/group/apps/mutual_exclusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/studies/group/apps/apps_test_harness.h"
#include "machine/field_mutator.h"

namespace tempo::apps {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = Notice::Kind;

constexpr NodeId kOther{2};

std::int64_t last_offer(Harness<MutualExclusion>& harness) {
  const auto offers = harness.notices(Kind::offer);
  CHECK(!offers.empty());
  return static_cast<std::int64_t>(offers.back().value);
}

TEST(MutualExclusion, ElectedProcessEntersAndLeaves) {
  Harness<MutualExclusion> harness;
  harness.command(Command::ask(1));
  EXPECT_THAT(harness.notices(Kind::hold), SizeIs(1)) << "no process is inside";
  harness.elect(kSelf);
  EXPECT_TRUE(harness.duty().inside());
  harness.pass(kBound + default_rules().work - 1ns);
  EXPECT_TRUE(harness.duty().inside());
  harness.pass(1ns);
  EXPECT_FALSE(harness.duty().inside());
  EXPECT_THAT(harness.sent(), SizeIs(1)) << "the leave message is broadcast";
}

TEST(MutualExclusion, WaitsUntilTheHolderLeaves) {
  Harness<MutualExclusion> harness;
  harness.elect(kOther);
  harness.command(Command::ask(1));
  EXPECT_THAT(harness.notices(Kind::hold), IsEmpty());
  harness.receive(NodeId{0}, {});
  EXPECT_THAT(harness.notices(Kind::hold), IsEmpty()) << "the sender was not inside";
  harness.receive(kOther, {});
  EXPECT_THAT(harness.notices(Kind::hold), SizeIs(1));
}

TEST(MutualExclusion, NoticesADeadHolder) {
  Harness<MutualExclusion> harness;
  harness.elect(kOther);
  harness.command(Command::ask(1));
  harness.pass(default_rules().patience() - 1ns);
  EXPECT_THAT(harness.notices(Kind::hold), IsEmpty());
  harness.pass(1ns);
  EXPECT_THAT(harness.notices(Kind::hold), SizeIs(1));
}

TEST(MutualExclusion, CriterionIsTheTimeSinceTheLastEntry) {
  Harness<MutualExclusion> harness;
  harness.command(Command::ask(1));
  const std::int64_t never_inside = last_offer(harness);
  harness.elect(kSelf);
  EXPECT_EQ(last_offer(harness), kNotCandidate) << "a process inside is not a candidate";
  const std::int64_t entered = harness.now().time_since_epoch().count();
  harness.pass(5 * kBound);
  harness.receive(kSelf, {});
  harness.command(Command::ask(1));
  EXPECT_EQ(last_offer(harness), never_inside - entered);
}

TEST(MutualExclusion, InTheNaiveVersionTheCriterionIsTheNumber) {
  Rules rules = default_rules();
  rules.naive = true;
  Harness<MutualExclusion> harness(rules);
  harness.command(Command::ask(1));
  EXPECT_EQ(last_offer(harness), 1);
}

TEST(MutualExclusion, ListsEveryField) {
  Harness<MutualExclusion> harness;
  harness.command(Command::ask(1));
  EXPECT_THAT(unnoticed_writes(harness.duty(), harness.now()), IsEmpty());
}

}  // namespace
}  // namespace tempo::apps
