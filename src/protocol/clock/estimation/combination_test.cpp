#include "protocol/clock/estimation/combination.h"

#include <cmath>

#include <gtest/gtest.h>

#include "lab/studies/sync/made.h"

namespace tempo::clock {
namespace {

using testing::made;
using testing::SlotMaker;

constexpr Line kTheta{.value = 1e-3, .rate = 20e-6, .origin = 0};

struct Whole {
  Slots slots;
  CandidateFits fits;
  Scores scores;
  Combination now;

  void add(const Sample& sample, double rate = 0) {
    slots.add(sample, sample, rate);
    fits.fit(slots, true);
    scores.judge(slots, fits);
    now = combine(slots, fits, scores, rate);
  }
};

TEST(Combination, StartsWithTheRateItWasTold) {
  Whole whole;
  whole.add(made(0.5, kTheta, 1e-4, 1e-4), 20e-6);
  EXPECT_EQ(whole.now.theta.rate, 20e-6);
  EXPECT_NEAR(whole.now.theta.value, kTheta.at(0.5), 1e-7);
  EXPECT_NEAR(whole.now.sigma, 1e-4, 1e-6);
}

TEST(Combination, FollowsFromTheSecondSlotOn) {
  Whole whole;
  SlotMaker maker(kTheta, 1e-6);
  for (int i = 0; i < 40; ++i) {
    whole.add(maker.next());
    EXPECT_NEAR(whole.now.theta.value, kTheta.at(whole.now.theta.origin), 5e-6) << i;
  }
  EXPECT_NEAR(whole.now.theta.rate, 20e-6, 0.5e-6);
}

TEST(Combination, ExponentialJitterIsForTheEnvelope) {
  Whole whole;
  SlotMaker maker(kTheta, 1e-4);
  for (int i = 0; i < 1200; ++i) whole.add(maker.next());
  EXPECT_EQ(whole.now.kind, Kind::envelope);
  EXPECT_GE(kWindows[whole.now.window], 256U);
  EXPECT_NEAR(whole.now.theta.value, kTheta.at(whole.now.theta.origin), 3e-6);
  EXPECT_LT(whole.now.sigma, 5e-6);
}

TEST(Combination, SymmetricNoiseIsForLeastSquares) {
  Whole whole;
  Stream stream(1, 0, 0);
  for (int i = 0; i < 1200; ++i)
    whole.add(made(i + 0.5, kTheta, 1e-3 + stream.normal(0, 2e-5), 1e-3 + stream.normal(0, 2e-5)));
  EXPECT_EQ(whole.now.kind, Kind::least_squares);
  EXPECT_NEAR(whole.now.theta.value, kTheta.at(whole.now.theta.origin), 3e-6);
}

}  // namespace
}  // namespace tempo::clock
