#include "protocol/clock/estimation/path_change_detector.h"

#include <gtest/gtest.h>

#include "lab/studies/sync/made.h"

namespace tempo::clock {
namespace {

using testing::SlotMaker;

// Theta is 0 and known to be. 200 usual slots, then whatever the test makes of the path.
class PathTest : public ::testing::Test {
 protected:
  void delay_stats(double jitter) {
    maker_ = SlotMaker({}, jitter);
    for (int i = 0; i < 200; ++i) ASSERT_FALSE(next());
    delay_stats_.measure(slots_, {});
    ASSERT_FALSE(watch_.running());
  }
  std::optional<LongerPath> next(Kind best = Kind::envelope) {
    maker_.add(slots_);
    slots_.newest().sigma = 2e-7;
    return watch_.close(slots_, delay_stats_, {}, best);
  }
  // Slots until it is noticed; `limit` if it is not.
  int noticed(int limit, Kind best = Kind::envelope) {
    for (int i = 1; i <= limit; ++i)
      if ((found_ = next(best))) return i;
    return limit + 1;
  }

  SlotMaker maker_{{}, 0};
  Slots slots_;
  DelayStats delay_stats_;
  PathChangeDetector watch_;
  std::optional<LongerPath> found_;
};

TEST_F(PathTest, ARiseOfOneWayIsMeasured) {
  delay_stats(1e-5);
  maker_.extra_out = 2e-4;
  EXPECT_EQ(noticed(100), 32);
  ASSERT_TRUE(found_);
  EXPECT_NEAR(found_->by[0], 2e-4, 2e-6);
  EXPECT_EQ(found_->by[1], 0);
  EXPECT_EQ(found_->slots[0], 32U);
}

TEST_F(PathTest, ARiseOfBothWaysIsMeasured) {
  delay_stats(1e-5);
  maker_.extra_out = 2e-4;
  maker_.extra_back = 3e-4;
  EXPECT_EQ(noticed(100), 32);
  ASSERT_TRUE(found_);
  EXPECT_NEAR(found_->by[0], 2e-4, 2e-6);
  EXPECT_NEAR(found_->by[1], 3e-4, 2e-6);
}

TEST_F(PathTest, LeastSquaresMeasuresByMedians) {
  delay_stats(1e-5);
  maker_.extra_back = 2e-4;
  EXPECT_EQ(noticed(100, Kind::least_squares), 32);
  ASSERT_TRUE(found_);
  EXPECT_NEAR(found_->by[1], 2e-4, 1e-5);
}

TEST_F(PathTest, LoadIsNotARoute) {
  delay_stats(1e-5);
  maker_ = SlotMaker({}, 1e-3);
  for (int i = 0; i < 200; ++i) maker_.next();  // to the same second
  EXPECT_EQ(noticed(300), 301);
}

TEST_F(PathTest, AShortDelayIsNoRun) {
  delay_stats(1e-5);
  maker_.extra_out = 2e-4;
  EXPECT_EQ(noticed(31), 32);
  EXPECT_TRUE(watch_.running());
  maker_.extra_out = 0;
  EXPECT_EQ(noticed(100), 101);
}

TEST_F(PathTest, AnOldRunBecomesTheNewNormal) {
  delay_stats(1e-8);
  maker_.extra_out = 0.5e-6;  // too small to be called a path, enough for a run
  maker_.extra_back = 0.5e-6;
  EXPECT_EQ(noticed(200), 201);
  EXPECT_TRUE(watch_.running());
  EXPECT_FALSE(next());
  EXPECT_FALSE(watch_.running());
}

}  // namespace
}  // namespace tempo::clock
