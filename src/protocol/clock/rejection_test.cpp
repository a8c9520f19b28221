#include "protocol/clock/rejection.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tempo::clock {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LargestConsistent, NobodyClaimsNothing) {
  EXPECT_THAT(largest_consistent({}).members, IsEmpty());
}

TEST(LargestConsistent, TheOddOneIsOut) {
  const std::vector<Interval> claims{{0, 4}, {10, 12}, {3, 6}, {2, 5}};
  const ConsistentGroup group = largest_consistent(claims);
  EXPECT_THAT(group.members, ElementsAre(0, 2, 3));
  EXPECT_EQ(group.overlap.low, 3);
  EXPECT_EQ(group.overlap.high, 4);
}

TEST(LargestConsistent, ClaimsThatTouchAgree) {
  const std::vector<Interval> claims{{0, 1}, {1, 2}};
  EXPECT_THAT(largest_consistent(claims).members, ElementsAre(0, 1));
}

TEST(LargestConsistent, TheLowestOfEquals) {
  const std::vector<Interval> claims{{5, 6}, {0, 1}};
  EXPECT_THAT(largest_consistent(claims).members, ElementsAre(1));
}

TEST(LargestConsistent, WhatIsNoIntervalIsInNoGroup) {
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Interval> claims{{nothing, 3}, {0, nothing}, {2, 1}, {1, 2}};
  EXPECT_THAT(largest_consistent(claims).members, ElementsAre(3));
}

// No point is in more claims than the group's overlap is, and every member contains the overlap.
RC_GTEST_PROP(LargestConsistent, IsTheLargest,
              (const std::vector<std::pair<std::int8_t, std::uint8_t>>& spans)) {
  std::vector<Interval> claims;
  for (const auto& [low, width] : spans)
    claims.push_back({.low = low + 0.0, .high = low + width % 32 + 0.0});
  const ConsistentGroup group = largest_consistent(claims);
  std::size_t most = 0;
  for (int point = -128; point < 256; ++point) {
    std::size_t count = 0;
    for (const Interval& claim : claims) count += claim.low <= point && point <= claim.high;
    most = std::max(most, count);
  }
  RC_CLASSIFY(most > 2);
  RC_ASSERT(group.members.size() == most);
  for (const std::size_t i : group.members) {
    RC_ASSERT(claims[i].low <= group.overlap.low);
    RC_ASSERT(group.overlap.high <= claims[i].high);
  }
}

}  // namespace
}  // namespace tempo::clock
