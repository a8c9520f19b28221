#include "protocol/clock/estimation/usual.h"

#include <vector>

#include <gtest/gtest.h>

#include "lab/studies/sync/made.h"

namespace tempo::clock {
namespace {

using testing::SlotMaker;

TEST(Quantiles, AreThoseOfTheSet) {
  std::vector<double> values;
  for (int i = 100; i >= 0; --i) values.push_back(i);
  const Quantiles q = quantiles(values);
  EXPECT_EQ(q.least, 0);
  EXPECT_EQ(q.low, 20);
  EXPECT_EQ(q.median, 50);
  EXPECT_EQ(q.high, 95);
  EXPECT_EQ(q.spread(), 50);
}

TEST(Usual, IsTheDelayOnceThetaIsTakenOut) {
  const Line theta{.value = 3e-3, .rate = 50e-6, .origin = 7};
  Slots slots;
  SlotMaker maker(theta, 1e-5);
  maker.extra_back = 1e-4;
  maker.add(slots, 300);
  Usual usual;
  EXPECT_FALSE(usual.known());
  usual.measure(slots, theta);
  EXPECT_TRUE(usual.known());
  EXPECT_NEAR(usual.of(Way::out).least, 1e-4, 1e-6);
  EXPECT_NEAR(usual.of(Way::back).least, 2e-4, 1e-6);
  EXPECT_NEAR(usual.of(Way::out).median, 1.07e-4, 3e-6);
  EXPECT_NEAR(usual.round_trip().least, 3e-4, 8e-6);
}

TEST(Usual, TheLeastOfManyIsLower) {
  Slots slots;
  SlotMaker maker({}, 1e-4);
  maker.add(slots, 300);
  Usual usual;
  usual.measure(slots, {});
  // The least of n exponential delays is a mean of jitter / n above the floor.
  EXPECT_NEAR(usual.least_of(Way::out, 8) - 1e-4, 1e-4 / 8, 1e-5);
  EXPECT_LT(usual.least_of(Way::out, 64), usual.least_of(Way::out, 8));
  EXPECT_NEAR(usual.least_of(Way::out, Usual::kSlots), usual.of(Way::out).least, 1e-12);
}

}  // namespace
}  // namespace tempo::clock
