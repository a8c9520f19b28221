#include "protocol/clock/estimation/slots.h"

#include <gtest/gtest.h>

#include "lab/studies/sync/made.h"

namespace tempo::clock {
namespace {

using testing::made;
using testing::SlotMaker;

constexpr Line kStill{};

TEST(Slots, HasOneSlotPerSecond) {
  Slots slots;
  const auto add = [&slots](double t) {
    const Sample sample = made(t, kStill, 1e-4, 1e-4);
    return slots.add(sample, sample, 0);
  };
  EXPECT_TRUE(add(0.1));
  EXPECT_FALSE(add(0.9));
  EXPECT_TRUE(add(1.0));
  EXPECT_TRUE(add(7.0));
  EXPECT_EQ(slots.size(), 3U);
  EXPECT_EQ(slots.newest().number, 7);
  EXPECT_EQ(slots.back(2).number, 0);
  EXPECT_EQ(slots.back(2).weight, 2);
}

TEST(Slots, KeepsTheLeastReadingOfEachDirection) {
  Slots slots;
  const Sample slow_back = made(0.1, kStill, 1e-4, 9e-4);
  const Sample slow_out = made(0.5, kStill, 8e-4, 2e-4);
  slots.add(slow_back, slow_back, 0);
  slots.add(slow_out, slow_out, 0);
  EXPECT_NEAR(slots.newest().least[Direction::forward].value, 1e-4, 1e-12);
  EXPECT_NEAR(slots.newest().least[Direction::reverse].value, 2e-4, 1e-12);
  EXPECT_NEAR(slots.newest().least[Direction::reverse].t, 0.501, 1e-9);
  EXPECT_NEAR(slots.newest().raw_of(Direction::reverse), 2e-4, 1e-12);
  EXPECT_NEAR(slots.newest().middle, (4e-4 - 3e-4) / 2, 1e-12);
}

TEST(Slots, ComparesReadingsAlongTheRate) {
  // Theta rises by 100 us within the second: the later forward reading is smaller although its
  // delay is not.
  const Line theta{.value = 0, .rate = 1e-4, .origin = 0};
  Slots slots;
  const Sample quick = made(0.0, theta, 1e-4, 1e-4);
  const Sample slow = made(0.9, theta, 1.5e-4, 1e-4);
  slots.add(quick, quick, theta.rate);
  slots.add(slow, slow, theta.rate);
  EXPECT_EQ(slots.newest().least[Direction::forward].t, 0.0);
}

TEST(Slots, OutliersDoNotCount) {
  Slots slots;
  SlotMaker maker({}, 1e-5);
  maker.add(slots, 64);
  EXPECT_LT(slots.outlier_limit(), 2e-4 + 2e-4);
  EXPECT_GT(slots.outlier_limit(), 2e-4);
  maker.extra_out = 1e-3;
  maker.add(slots);
  EXPECT_EQ(slots.newest().weight, 0);
  EXPECT_NEAR(slots.newest().least[Direction::forward].value, 1.1e-3, 1e-4);
}

TEST(Slots, LoweredSlotsCountAgain) {
  Slots slots;
  SlotMaker maker({}, 1e-5);
  maker.add(slots, 64);
  maker.extra_out = 1e-3;
  maker.add(slots, 8);
  const double middle = slots.newest().middle;
  const double raw = slots.newest().raw_of(Direction::forward);
  slots.lower(Direction::forward, 1e-3, 8);
  EXPECT_NEAR(slots.newest().middle, middle + 0.5e-3, 1e-12);
  EXPECT_NEAR(slots.newest().least[Direction::forward].value, 1e-4, 1e-4);
  EXPECT_EQ(slots.newest().raw_of(Direction::forward), raw);
  double counting = 0;
  for (std::size_t age = 0; age < 8; ++age) counting += slots.back(age).weight;
  EXPECT_GE(counting, 6);
}

TEST(Slots, ShiftMovesTheta) {
  Slots slots;
  SlotMaker maker({}, 0);
  maker.add(slots, 3);
  slots.shift(1e-3);
  const Slot& oldest = slots.back(2);
  EXPECT_NEAR(oldest.middle, 1e-3, 1e-12);
  EXPECT_NEAR(oldest.least[Direction::forward].value, 1e-4 - 1e-3, 1e-12);
  EXPECT_NEAR(oldest.raw_of(Direction::reverse), 1e-4 + 1e-3, 1e-12);
}

TEST(Slots, SpreadAndNoiseFollowTheLoad) {
  Slots slots;
  SlotMaker maker({}, 1e-5);
  maker.add(slots, 100);
  const double before = slots.newest().noise;
  EXPECT_NEAR(before, 1.5e-5, 1e-5);
  EXPECT_NEAR(slots.spread(), slots.usual_spread(), 1e-5);
  maker.extra_back = 1e-3;
  maker.add(slots, 10);
  EXPECT_GT(slots.newest().noise, 50 * before);  // after 10 slots
  maker.add(slots, 30);
  EXPECT_GT(slots.spread(), 5 * slots.usual_spread());  // after 40 slots
}

TEST(Slots, DiscardsTheOldestSlots) {
  Slots slots;
  SlotMaker maker({}, 1e-5);
  maker.add(slots, 5000);
  EXPECT_EQ(slots.size(), Slots::kKept);
  EXPECT_EQ(slots.opened(), 5000U);
  EXPECT_EQ(slots.newest().number, 4999);
  EXPECT_EQ(slots.back(Slots::kKept - 1).number, 5000 - static_cast<int>(Slots::kKept));
}

}  // namespace
}  // namespace tempo::clock
