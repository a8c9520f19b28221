#include "protocol/clock/estimator.h"

#include <chrono>

#include <gtest/gtest.h>

namespace tempo::clock {
namespace {

// An exchange with a reference whose time is the local one less `theta`.
Exchange exchange(Nanos asked, Nanos theta, Nanos out, Nanos back) {
  const Instant sent{asked};
  const WallTime arrived{asked - theta + out};
  const WallTime answered = arrived + 10us;
  return {
      .asked = sent, .received = arrived, .answered = answered, .heard = sent + out + back + 10us};
}

TEST(Estimator, IsNotReadyBeforeTheFirstExchange) {
  const Estimator estimator;
  EXPECT_FALSE(estimator.ready());
  EXPECT_EQ(estimator.exchanges(), 0U);
}

TEST(Estimator, OneExchangeGivesTheMiddleAndItsRoundTripAsBound) {
  Estimator estimator;
  ASSERT_TRUE(estimator.add(exchange(1s, 5ms, 100us, 100us)));
  const Estimate now = estimator.at(Instant{1s});
  EXPECT_NEAR(static_cast<double>((now.theta - 5ms).count()), 0, 100);
  EXPECT_LE(now.earliest, 5ms - 99us);
  EXPECT_GE(now.latest, 5ms + 99us);
  EXPECT_LE(now.latest - now.earliest, 201us);
}

TEST(Estimator, DropsTheImpossible) {
  Estimator estimator;
  Exchange backwards = exchange(1s, 0ns, 100us, 100us);
  backwards.heard = backwards.asked - 1ns;
  EXPECT_FALSE(estimator.add(backwards));
  Exchange answered_early = exchange(1s, 0ns, 100us, 100us);
  answered_early.answered = answered_early.received - 1ns;
  EXPECT_FALSE(estimator.add(answered_early));
  EXPECT_FALSE(estimator.add(exchange(1s, 0ns, 100us, -101us)));
  Exchange far = exchange(1s, 0ns, 100us, 100us);
  far.received = WallTime::min();
  EXPECT_FALSE(estimator.add(far));
  EXPECT_FALSE(estimator.ready());
}

TEST(Estimator, FollowsARate) {
  Estimator estimator;
  for (int second = 0; second <= 100; ++second)
    ASSERT_TRUE(estimator.add(exchange(second * 1s, 1ms + second * 20us, 100us, 100us)));
  const Estimate now = estimator.at(Instant{110s});
  EXPECT_NEAR(now.rate, 20e-6, 1e-7);
  EXPECT_NEAR(static_cast<double>((now.theta - 3200us).count()), 0, 1000);
}

TEST(Estimator, TheBoundGrowsWithoutExchanges) {
  Estimator estimator;
  for (int second = 0; second <= 100; ++second)
    ASSERT_TRUE(estimator.add(exchange(second * 1s, 1ms, 100us, 100us)));
  const Estimate soon = estimator.at(Instant{101s});
  const Estimate late = estimator.at(Instant{200s});
  EXPECT_LT(late.earliest, soon.earliest);
  EXPECT_GT(late.latest, soon.latest);
}

}  // namespace
}  // namespace tempo::clock
