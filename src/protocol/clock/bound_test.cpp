#include "protocol/clock/bound.h"

#include <gtest/gtest.h>

#include "lab/studies/sync/made.h"

namespace tempo::clock {
namespace {

using testing::made;
using testing::SlotMaker;

void put(Slots& slots, double t, const Line& theta, double out, double back) {
  const Sample sample = made(t, theta, out, back);
  slots.add(sample, sample, 0);
}

TEST(Bound, OfOneExchangeIsItsRoundTrip) {
  Slots slots;
  put(slots, 0.5, {}, 2e-4, 3e-4);
  const Interval bound = bound_at(slots, {}, 0, {}, 0.5);
  EXPECT_NEAR(bound.low, -2e-4, 1e-12);
  EXPECT_NEAR(bound.high, 3e-4, 1e-12);
}

TEST(Bound, UsesTheSmallestDelays) {
  Slots slots;
  put(slots, 0.5, {}, 2e-4, 9e-4);
  put(slots, 1.5, {}, 8e-4, 3e-4);
  const Interval bound = bound_at(slots, {}, 0, {}, 2);
  EXPECT_NEAR(bound.low, -2e-4, 1e-12);
  EXPECT_NEAR(bound.high, 3e-4, 1e-12);
}

TEST(Bound, WidensWithAge) {
  Slots slots;
  put(slots, 0.5, {}, 1e-4, 1e-4);
  const Interval bound = bound_at(slots, {}, 1e-6, {}, 100.5);
  EXPECT_NEAR(bound.low, -2e-4, 1e-9);
  EXPECT_NEAR(bound.high, 2e-4, 1e-9);
}

TEST(Bound, FollowsTheLine) {
  const Line theta{.value = 1e-3, .rate = 20e-6, .origin = 0};
  Slots slots;
  put(slots, 0.5, theta, 1e-4, 1e-4);
  const Interval bound = bound_at(slots, theta, 0, {}, 50);
  EXPECT_NEAR(bound.low, theta.at(50) - 1e-4, 1e-12);
  EXPECT_NEAR(bound.high, theta.at(50) + 1e-4, 1e-12);
}

TEST(Bound, StopsAtAContradictingSlot) {
  Slots slots;
  put(slots, 0.5, {.value = -1}, 1e-4, 1e-4);  // before the clock jumped
  put(slots, 1.5, {}, 1e-4, 1e-4);
  const Interval bound = bound_at(slots, {}, 1e-6, {}, 2);
  EXPECT_NEAR(bound.low, -1e-4, 1e-6);
  EXPECT_NEAR(bound.high, 1e-4, 1e-6);
}

TEST(Bound, IsNeverInverted) {
  // A round trip shorter than the change of the line during it.
  const Line steep{.value = 0, .rate = 1e-3, .origin = 0};
  Slots slots;
  const Sample sample{{Reading{.t = 0.5, .value = 0}, Reading{.t = 0.6, .value = 1e-9}}};
  slots.add(sample, sample, 0);
  const Interval bound = bound_at(slots, steep, 0, {}, 1);
  EXPECT_LE(bound.low, bound.high);
  EXPECT_LT(bound.high - bound.low, 1e-3);
}

TEST(Bound, IncludesHeldSamples) {
  Slots slots;
  put(slots, 0.5, {}, 1e-4, 1e-4);
  const OutlierFilter::Held held{.raw = made(1.5, {.value = 5e-3}, 1e-4, 1e-4),
                                 .residuals = {},
                                 .direction = Direction::forward,
                                 .exchange = 1};
  const Interval bound = bound_at(slots, {}, 0, {held}, 2);
  EXPECT_NEAR(bound.low, -1e-4, 1e-9);
  EXPECT_NEAR(bound.high, 5.1e-3, 1e-9);
}

TEST(DriftAllowance, ShrinksWithMoreSlots) {
  Slots slots;
  CandidateFits fits;
  SlotMaker maker({}, 1e-5);
  const auto allowance = [&] {
    return drift_allowance(slots, fits, {.sigma = 1e-6, .window = 0, .tests = 8}, 0.15e-6);
  };
  const auto grow = [&](int count) {
    for (int i = 0; i < count; ++i) {
      maker.add(slots);
      fits.fit(slots, true);
    }
  };
  grow(15);
  EXPECT_EQ(allowance(), 200e-6);
  grow(10);
  EXPECT_GT(allowance(), 50e-6);
  grow(10);
  EXPECT_LT(allowance(), 50e-6);
  EXPECT_GT(allowance(), 0.15e-6 + 16 * 2e-6 / 8);
}

TEST(DriftAllowance, GrowsWithNoiseAndDisagreement) {
  Slots slots;
  CandidateFits fits;
  SlotMaker maker({}, 0);
  for (int i = 0; i < 200; ++i) {
    maker.add(slots);
    fits.fit(slots, true);
  }
  const Combination calm{.sigma = 0, .window = 4, .tests = 1000};
  EXPECT_NEAR(drift_allowance(slots, fits, calm, 0.15e-6), 0.15e-6, 1e-9);
  Combination noisy = calm;
  noisy.sigma = 1e-6;
  EXPECT_NEAR(drift_allowance(slots, fits, noisy, 0.15e-6), 0.15e-6 + 16e-6 / 31 * 1.032, 1e-8);
  Combination odd = calm;
  odd.theta.rate = 3e-6;  // while the rate of every window is 0
  EXPECT_NEAR(drift_allowance(slots, fits, odd, 0.15e-6), 3.15e-6, 1e-9);
}

// A change of the path looked like a jump of the clock: all limits moved by it, and the bound
// missed theta.
TEST(Bound, DoesNotRelyOnLimitsFromBeforeAJump) {
  Slots slots;
  for (int i = 0; i < 5; ++i) put(slots, i + 0.5, {}, 1e-4, i < 4 ? 1e-4 : 3e-4);
  const Interval all = bound_at(slots, {}, 0, {}, 4.5);
  const Interval newer = bound_at(slots, {}, 0, {}, 4.5, slots.back(1).number);
  EXPECT_NEAR(all.high - all.low, 200e-6, 1e-9);
  EXPECT_NEAR(newer.high - newer.low, 400e-6, 1e-9);
  EXPECT_NEAR(bound_at(slots, {}, 0, {}, 4.5, slots.newest().number).high, newer.high, 1e-12)
      << "the newest slot always counts";
}

}  // namespace
}  // namespace tempo::clock
