#include "protocol/clock/rejection.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tempo::clock {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LargestConsistent, IsEmptyWithoutClaims) {
  EXPECT_THAT(largest_consistent({}).members, IsEmpty());
}

TEST(LargestConsistent, ExcludesAnOutlier) {
  const std::vector<Interval> claims{{0, 4}, {10, 12}, {3, 6}, {2, 5}};
  const ConsistentGroup group = largest_consistent(claims);
  EXPECT_THAT(group.members, ElementsAre(0, 2, 3));
  EXPECT_EQ(group.overlap.low, 3);
  EXPECT_EQ(group.overlap.high, 4);
}

TEST(LargestConsistent, AcceptsTouchingIntervals) {
  const std::vector<Interval> claims{{0, 1}, {1, 2}};
  EXPECT_THAT(largest_consistent(claims).members, ElementsAre(0, 1));
}

TEST(LargestConsistent, PrefersTheLowestOfEquals) {
  const std::vector<Interval> claims{{5, 6}, {0, 1}};
  EXPECT_THAT(largest_consistent(claims).members, ElementsAre(1));
}

TEST(LargestConsistent, IgnoresInvalidIntervals) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Interval> claims{{nan, 3}, {0, nan}, {2, 1}, {1, 2}};
  EXPECT_THAT(largest_consistent(claims).members, ElementsAre(3));
}

// No point is in more claims than the overlap of the group, and every member contains the overlap.
RC_GTEST_PROP(LargestConsistent, FindsTheLargestGroup,
              (const std::vector<std::pair<std::int8_t, std::uint8_t>>& spans)) {
  std::vector<Interval> claims;
  for (const auto& [low, width] : spans)
    claims.push_back({.low = low + 0.0, .high = low + width % 32 + 0.0});
  const ConsistentGroup group = largest_consistent(claims);
  std::size_t largest = 0;
  for (int point = -128; point < 256; ++point) {
    std::size_t count = 0;
    for (const Interval& claim : claims) count += claim.low <= point && point <= claim.high;
    largest = std::max(largest, count);
  }
  RC_CLASSIFY(largest > 2);
  RC_ASSERT(group.members.size() == largest);
  for (const std::size_t i : group.members) {
    RC_ASSERT(claims[i].low <= group.overlap.low);
    RC_ASSERT(group.overlap.high <= claims[i].high);
  }
}

}  // namespace
}  // namespace tempo::clock
