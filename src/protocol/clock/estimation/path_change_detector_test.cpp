#include "protocol/clock/estimation/path_change_detector.h"

#include <gtest/gtest.h>

#include "lab/studies/sync/made.h"

namespace tempo::clock {
namespace {

using testing::SlotMaker;

// Theta is 0. The path is normal for 200 slots; then the test changes it.
class PathChangeDetectorTest : public ::testing::Test {
 protected:
  void run_normal_path(double jitter) {
    maker_ = SlotMaker({}, jitter);
    for (int i = 0; i < 200; ++i) ASSERT_FALSE(next());
    delay_stats_.measure(slots_, {});
    ASSERT_FALSE(detector_.running());
  }
  std::optional<LongerPath> next(Kind best = Kind::envelope) {
    maker_.add(slots_);
    slots_.newest().sigma = 2e-7;
    return detector_.close(slots_, delay_stats_, {}, best);
  }
  // Slots until the detector finds a longer path; limit + 1: not found.
  int slots_to_detect(int limit, Kind best = Kind::envelope) {
    for (int i = 1; i <= limit; ++i)
      if ((found_ = next(best))) return i;
    return limit + 1;
  }

  SlotMaker maker_{{}, 0};
  Slots slots_;
  DelayStats delay_stats_;
  PathChangeDetector detector_;
  std::optional<LongerPath> found_;
};

TEST_F(PathChangeDetectorTest, MeasuresARiseOfOneDirection) {
  run_normal_path(1e-5);
  maker_.extra_out = 2e-4;
  EXPECT_EQ(slots_to_detect(100), 32);
  ASSERT_TRUE(found_);
  EXPECT_NEAR(found_->by[0], 2e-4, 2e-6);
  EXPECT_EQ(found_->by[1], 0);
  EXPECT_EQ(found_->slots[0], 32U);
}

TEST_F(PathChangeDetectorTest, MeasuresARiseOfBothDirections) {
  run_normal_path(1e-5);
  maker_.extra_out = 2e-4;
  maker_.extra_back = 3e-4;
  EXPECT_EQ(slots_to_detect(100), 32);
  ASSERT_TRUE(found_);
  EXPECT_NEAR(found_->by[0], 2e-4, 2e-6);
  EXPECT_NEAR(found_->by[1], 3e-4, 2e-6);
}

TEST_F(PathChangeDetectorTest, MeasuresByMediansForLeastSquares) {
  run_normal_path(1e-5);
  maker_.extra_back = 2e-4;
  EXPECT_EQ(slots_to_detect(100, Kind::least_squares), 32);
  ASSERT_TRUE(found_);
  EXPECT_NEAR(found_->by[1], 2e-4, 1e-5);
}

TEST_F(PathChangeDetectorTest, IgnoresLoad) {
  run_normal_path(1e-5);
  maker_ = SlotMaker({}, 1e-3);
  for (int i = 0; i < 200; ++i) maker_.next();  // up to the current second
  EXPECT_EQ(slots_to_detect(300), 301);
}

TEST_F(PathChangeDetectorTest, IgnoresAShortRun) {
  run_normal_path(1e-5);
  maker_.extra_out = 2e-4;
  EXPECT_EQ(slots_to_detect(31), 32);
  EXPECT_TRUE(detector_.running());
  maker_.extra_out = 0;
  EXPECT_EQ(slots_to_detect(100), 101);
}

TEST_F(PathChangeDetectorTest, GivesUpAfterALongRun) {
  run_normal_path(1e-8);
  maker_.extra_out = 0.5e-6;  // too small for a longer path, enough for a run
  maker_.extra_back = 0.5e-6;
  EXPECT_EQ(slots_to_detect(200), 201);
  EXPECT_TRUE(detector_.running());
  EXPECT_FALSE(next());
  EXPECT_FALSE(detector_.running());
}

}  // namespace
}  // namespace tempo::clock
