#include "protocol/clock/estimation/delay_stats.h"

#include <vector>

#include <gtest/gtest.h>

#include "lab/studies/sync/made.h"

namespace tempo::clock {
namespace {

using testing::SlotMaker;

TEST(Quantiles, AreComputedFromTheSortedValues) {
  std::vector<double> values;
  for (int i = 100; i >= 0; --i) values.push_back(i);
  const Quantiles q = quantiles(values);
  EXPECT_EQ(q.least, 0);
  EXPECT_EQ(q.low, 20);
  EXPECT_EQ(q.median, 50);
  EXPECT_EQ(q.high, 95);
  EXPECT_EQ(q.spread(), 50);
}

TEST(DelayStats, MeasuresDelaysWithoutTheta) {
  const Line theta{.value = 3e-3, .rate = 50e-6, .origin = 7};
  Slots slots;
  SlotMaker maker(theta, 1e-5);
  maker.extra_back = 1e-4;
  maker.add(slots, 300);
  DelayStats delay_stats;
  EXPECT_FALSE(delay_stats.known());
  delay_stats.measure(slots, theta);
  EXPECT_TRUE(delay_stats.known());
  EXPECT_NEAR(delay_stats.of(Direction::forward).least, 1e-4, 1e-6);
  EXPECT_NEAR(delay_stats.of(Direction::reverse).least, 2e-4, 1e-6);
  EXPECT_NEAR(delay_stats.of(Direction::forward).median, 1.07e-4, 3e-6);
  EXPECT_NEAR(delay_stats.round_trip().least, 3e-4, 8e-6);
}

TEST(DelayStats, LeastOfMoreSlotsIsLower) {
  Slots slots;
  SlotMaker maker({}, 1e-4);
  maker.add(slots, 300);
  DelayStats delay_stats;
  delay_stats.measure(slots, {});
  // The least of n exponential delays is on average jitter / n above the floor.
  EXPECT_NEAR(delay_stats.least_of(Direction::forward, 8) - 1e-4, 1e-4 / 8, 1e-5);
  EXPECT_LT(delay_stats.least_of(Direction::forward, 64),
            delay_stats.least_of(Direction::forward, 8));
  EXPECT_NEAR(delay_stats.least_of(Direction::forward, DelayStats::kSlots),
              delay_stats.of(Direction::forward).least, 1e-12);
}

}  // namespace
}  // namespace tempo::clock
