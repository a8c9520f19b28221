#include "protocol/clock/estimation/outlier_filter.h"

#include <gtest/gtest.h>

#include "lab/studies/sync/made.h"

namespace tempo::clock {
namespace {

using testing::made;
using testing::SlotMaker;

constexpr double kSigma = 1e-7;
constexpr std::array<double, 2> kNone{0, 0};

// 128 slots with delays of 100 us and 10 us of jitter in each direction, and theta = 0.
class OutlierFilterTest : public ::testing::Test {
 protected:
  OutlierFilterTest() {
    SlotMaker maker({}, 1e-5);
    Slots slots;
    maker.add(slots, 128);
    delay_stats_.measure(slots, {});
  }

  bool hold(double out, double back) {
    const Sample sample = made(t_++, {}, out, back);
    return outlier_filter_.hold(sample, sample, {}, kSigma, delay_stats_);
  }

  DelayStats delay_stats_;
  OutlierFilter outlier_filter_;
  double t_ = 200.5;
};

TEST_F(OutlierFilterTest, AcceptsNormalSamples) {
  EXPECT_FALSE(hold(1e-4, 1e-4));
  EXPECT_FALSE(hold(5e-3, 9e-3));
  EXPECT_FALSE(outlier_filter_.disturbed());
}

TEST_F(OutlierFilterTest, HoldsSamplesBelowTheFloor) {
  EXPECT_TRUE(hold(5e-5, 1e-4));
  EXPECT_TRUE(hold(1e-4, 5e-5));
  EXPECT_TRUE(outlier_filter_.disturbed());
  EXPECT_FALSE(outlier_filter_.verdict(kNone, delay_stats_));
}

TEST_F(OutlierFilterTest, AcceptsEverythingWithoutStatistics) {
  OutlierFilter filter;
  const Sample sample = made(0.5, {}, 0, 0);
  EXPECT_FALSE(filter.hold(sample, sample, {}, kSigma, DelayStats{}));
}

TEST_F(OutlierFilterTest, DiscardsASingleOutlier) {
  EXPECT_TRUE(hold(5e-5, 1e-4));
  for (std::uint64_t i = 0; i < OutlierFilter::kMaxAge; ++i) {
    EXPECT_TRUE(outlier_filter_.disturbed());
    EXPECT_FALSE(hold(1e-4, 1e-4));
  }
  EXPECT_FALSE(hold(1e-4, 1e-4));
  EXPECT_FALSE(outlier_filter_.disturbed());
}

TEST_F(OutlierFilterTest, DetectsAJumpOfTheClock) {
  for (const double by : {1e-3, -1e-3}) {
    outlier_filter_ = {};
    for (std::size_t i = 0; i < OutlierFilter::kAgree; ++i) {
      EXPECT_FALSE(outlier_filter_.verdict(kNone, delay_stats_));
      EXPECT_TRUE(hold(1e-4 - by, 1e-4 + by));
    }
    const auto verdict = outlier_filter_.verdict(kNone, delay_stats_);
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->what, Verdict::What::clock_jumped);
    EXPECT_NEAR(verdict->by, by, 1e-6);
  }
}

TEST_F(OutlierFilterTest, DetectsAShorterPath) {
  for (std::size_t i = 0; i < OutlierFilter::kAgree; ++i) EXPECT_TRUE(hold(1e-4, 4e-5));
  const auto verdict = outlier_filter_.verdict(kNone, delay_stats_);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->what, Verdict::What::shorter_path);
  EXPECT_EQ(verdict->direction, Direction::reverse);
  EXPECT_NEAR(verdict->by, 6e-5, 1e-6);
  EXPECT_EQ(verdict->other_by, 0);
}

TEST_F(OutlierFilterTest, DetectsAShorterPathInBothDirections) {
  for (std::size_t i = 0; i < OutlierFilter::kAgree; ++i) EXPECT_TRUE(hold(4e-5, 5e-5));
  const auto verdict = outlier_filter_.verdict(kNone, delay_stats_);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->what, Verdict::What::shorter_path);
  EXPECT_NEAR(verdict->by, 6e-5, 1e-6);
  EXPECT_NEAR(verdict->other_by, 5e-5, 1e-6);
}

TEST_F(OutlierFilterTest, DetectsTheReturnOfTheOldPath) {
  for (std::size_t i = 0; i < OutlierFilter::kAgree; ++i) EXPECT_TRUE(hold(-1e-4, 1e-4));
  const auto verdict = outlier_filter_.verdict({1.5e-4, 0}, delay_stats_);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->what, Verdict::What::old_path);
  EXPECT_NEAR(verdict->by, 1.5e-4, 1e-12);
}

TEST_F(OutlierFilterTest, IgnoresOutliersThatDisagree) {
  for (const double out : {-1e-3, 2e-5, -4e-3, 3e-5}) EXPECT_TRUE(hold(out, 1e-4));
  EXPECT_FALSE(outlier_filter_.verdict(kNone, delay_stats_));
}

TEST_F(OutlierFilterTest, ReleasesOneDirectionOnly) {
  EXPECT_TRUE(hold(5e-5, 1e-4));
  EXPECT_TRUE(hold(1e-4, 5e-5));
  EXPECT_EQ(outlier_filter_.release(Direction::forward).size(), 1U);
  ASSERT_EQ(outlier_filter_.held().size(), 1U);
  EXPECT_EQ(outlier_filter_.held()[0].direction, Direction::reverse);
}

}  // namespace
}  // namespace tempo::clock
