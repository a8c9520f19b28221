#include "protocol/clock/holdover.h"

#include <gtest/gtest.h>

namespace tempo::clock {
namespace {

TEST(Holdover, ErrorGrowsWithTheAgeInSpans) {
  const Holdover held{.line = SteeredClock(Instant{100s}, WallTime{5000s}, 1e-6),
                      .since = Instant{100s},
                      .sigma = 1e-6,
                      .span = 100};
  EXPECT_DOUBLE_EQ(held.doubt(Instant{100s}), 1e-6);
  EXPECT_NEAR(held.doubt(Instant{110s}), 1e-6 * (1 + 0.2 + 0.0316), 1e-9);
  EXPECT_NEAR(held.doubt(Instant{200s}), 4e-6, 1e-12);
  EXPECT_EQ(held.line.at(Instant{200s}), WallTime{5100s + 100us});
}

TEST(Holdover, WeighsANewEstimateByItsError) {
  EXPECT_DOUBLE_EQ(share_of_fresh(1e-6, 1e-6), 0.5);
  EXPECT_NEAR(share_of_fresh(1e-6, 10e-6), 0.0099, 1e-4);
  EXPECT_NEAR(share_of_fresh(10e-6, 1e-6), 0.9901, 1e-4);
  EXPECT_EQ(share_of_fresh(0, 0), 1) << "both errors are zero";
}

}  // namespace
}  // namespace tempo::clock
