#include "protocol/clock/estimation/combination.h"

#include <cmath>

#include <gtest/gtest.h>

#include "lab/studies/sync/made.h"

namespace tempo::clock {
namespace {

using testing::made;
using testing::SlotMaker;

constexpr Line kTheta{.value = 1e-3, .rate = 20e-6, .origin = 0};

// All inputs of combine().
struct CombinationInputs {
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

TEST(Combination, StartsWithTheGivenRate) {
  CombinationInputs inputs;
  inputs.add(made(0.5, kTheta, 1e-4, 1e-4), 20e-6);
  EXPECT_EQ(inputs.now.theta.rate, 20e-6);
  EXPECT_NEAR(inputs.now.theta.value, kTheta.at(0.5), 1e-7);
  EXPECT_NEAR(inputs.now.sigma, 1e-4, 1e-6);
}

TEST(Combination, FollowsFromTheSecondSlot) {
  CombinationInputs inputs;
  SlotMaker maker(kTheta, 1e-6);
  for (int i = 0; i < 40; ++i) {
    inputs.add(maker.next());
    EXPECT_NEAR(inputs.now.theta.value, kTheta.at(inputs.now.theta.origin), 5e-6) << i;
  }
  EXPECT_NEAR(inputs.now.theta.rate, 20e-6, 0.5e-6);
}

TEST(Combination, PrefersTheEnvelopeForExponentialJitter) {
  CombinationInputs inputs;
  SlotMaker maker(kTheta, 1e-4);
  for (int i = 0; i < 1200; ++i) inputs.add(maker.next());
  EXPECT_EQ(inputs.now.kind, Kind::envelope);
  EXPECT_GE(kWindows[inputs.now.window], 256U);
  EXPECT_NEAR(inputs.now.theta.value, kTheta.at(inputs.now.theta.origin), 3e-6);
  EXPECT_LT(inputs.now.sigma, 5e-6);
}

TEST(Combination, PrefersLeastSquaresForSymmetricNoise) {
  CombinationInputs inputs;
  Stream stream(1, 0, 0);
  for (int i = 0; i < 1200; ++i)
    inputs.add(made(i + 0.5, kTheta, 1e-3 + stream.normal(0, 2e-5), 1e-3 + stream.normal(0, 2e-5)));
  EXPECT_EQ(inputs.now.kind, Kind::least_squares);
  EXPECT_NEAR(inputs.now.theta.value, kTheta.at(inputs.now.theta.origin), 3e-6);
}

}  // namespace
}  // namespace tempo::clock
