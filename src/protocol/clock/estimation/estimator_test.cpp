#include "protocol/clock/estimation/estimator.h"

#include <chrono>
#include <cmath>

#include <gtest/gtest.h>

#include "base/random.h"

namespace tempo::clock {
namespace {

// An exchange that starts at local time `asked`, with a reference that shows local time minus
// `theta`; `out` and `back` are the delays of the request and of the reply.
Exchange exchange(Nanos asked, Nanos theta, Nanos out, Nanos back) {
  const Instant sent{asked};
  const WallTime arrived{asked - theta + out};
  return {.asked = sent,
          .received = arrived,
          .answered = arrived + 10us,
          .heard = sent + out + back + 10us};
}

// A client with one exchange per second and a delay of 100 us plus jitter in each direction. A test
// may change theta and the delays.
class EstimatorTest : public ::testing::Test {
 protected:
  void run(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      const Nanos out = 100us + extra_out_ + jitter();
      const Nanos back = 100us + extra_back_ + jitter();
      EXPECT_TRUE(estimator_.add(exchange(now_, theta_, out, back)));
      now_ += 1s;
      theta_ += rate_;
    }
  }
  Nanos jitter() { return Nanos{std::llround(stream_.exponential(5e3))}; }
  Estimate estimate() const { return estimator_.at(Instant{now_}); }
  double error_us() const {
    return static_cast<double>((estimate().theta - theta_).count()) * 1e-3;
  }
  bool bounded() const { return estimate().earliest <= theta_ && theta_ <= estimate().latest; }

  Estimator estimator_;
  Stream stream_{5, 0, 0};
  Nanos now_ = 1000s;
  Nanos theta_ = 5ms;
  Nanos rate_{12'000};   // change of theta per second
  Nanos extra_out_{0};   // added to the delay of a request
  Nanos extra_back_{0};  // added to the delay of a reply
};

TEST_F(EstimatorTest, IsNotReadyBeforeTheFirstExchange) {
  EXPECT_FALSE(estimator_.ready());
  EXPECT_EQ(estimator_.exchanges(), 0U);
  run(1);
  EXPECT_TRUE(estimator_.ready());
  EXPECT_EQ(estimator_.exchanges(), 1U);
}

TEST(Estimator, OneExchangeGivesItsMiddleAndRoundTrip) {
  Estimator estimator;
  ASSERT_TRUE(estimator.add(exchange(1s, 5ms, 100us, 100us)));
  const Estimate now = estimator.at(Instant{1s});
  EXPECT_NEAR(static_cast<double>((now.theta - 5ms).count()), 0, 100);
  EXPECT_LE(now.earliest, 5ms - 99us);
  EXPECT_GE(now.latest, 5ms + 99us);
  EXPECT_LE(now.latest - now.earliest, 201us);
}

TEST(Estimator, StartsWithTheGivenRate) {
  Estimator estimator(20e-6);
  EXPECT_EQ(estimator.rate(), 20e-6);
  ASSERT_TRUE(estimator.add(exchange(1s, 5ms, 100us, 100us)));
  const Estimate later = estimator.at(Instant{11s});
  EXPECT_NEAR(static_cast<double>((later.theta - 5ms - 200us).count()), 0, 100);
}

TEST(Estimator, DropsImpossibleExchanges) {
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

TEST(Estimator, DropsExchangesOfAClosedSlot) {
  Estimator estimator;
  EXPECT_TRUE(estimator.add(exchange(10s, 0ns, 100us, 100us)));
  EXPECT_TRUE(estimator.add(exchange(12s, 0ns, 100us, 100us)));
  EXPECT_FALSE(estimator.add(exchange(11s, 0ns, 100us, 100us)));
  EXPECT_EQ(estimator.exchanges(), 2U);
}

TEST_F(EstimatorTest, FindsOffsetAndRate) {
  run(300);
  EXPECT_NEAR(error_us(), 0, 1);
  EXPECT_NEAR(estimate().rate, 12e-6, 1e-8);
  EXPECT_NEAR(estimator_.rate(), 12e-6, 1e-8);
  EXPECT_TRUE(bounded());
  EXPECT_LT(estimate().latest - estimate().earliest, 210us);
  EXPECT_LT(estimate().sigma, 1us);
}

TEST_F(EstimatorTest, BoundGrowsInHoldover) {
  run(300);
  const Estimate then = estimate();
  now_ += 1000s;
  theta_ += 1000 * rate_;
  const Estimate later = estimate();
  EXPECT_TRUE(bounded());
  EXPECT_GT(later.latest - later.earliest, then.latest - then.earliest + 200us);
  EXPECT_LT(later.latest - later.earliest, then.latest - then.earliest + 2ms);
  EXPECT_NEAR(error_us(), 0, 10);
}

TEST_F(EstimatorTest, AFalseTimestampChangesOnlyTheBound) {
  run(300);
  const double before = error_us();
  EXPECT_TRUE(estimator_.add(exchange(now_, theta_ + 3ms, 100us, 100us)));
  EXPECT_TRUE(estimate().disturbed);
  EXPECT_GE(estimate().latest, theta_ + 3ms);
  EXPECT_NEAR(error_us(), before, 0.5);
  now_ += 1s;
  theta_ += rate_;
  run(10);
  EXPECT_FALSE(estimate().disturbed);
  EXPECT_NEAR(error_us(), 0, 1);
}

TEST_F(EstimatorTest, AcceptsAClockJumpAfterFourExchanges) {
  for (const Nanos jump : {2ms, -3ms}) {
    run(300);
    theta_ += jump;
    run(3);
    EXPECT_TRUE(estimate().disturbed);
    EXPECT_TRUE(bounded());
    EXPECT_GT(std::abs(error_us()), 1000);
    run(1);
    EXPECT_FALSE(estimate().disturbed);
    EXPECT_NEAR(error_us(), 0, 10);
    EXPECT_TRUE(bounded());
    run(60);
    EXPECT_NEAR(error_us(), 0, 2);
  }
}

TEST_F(EstimatorTest, ALongerPathDoesNotMoveTheta) {
  run(600);
  extra_out_ = 300us;
  for (int i = 0; i < 300; ++i) {
    run(1);
    EXPECT_NEAR(error_us(), 0, 5) << i;
    EXPECT_TRUE(bounded());
  }
  extra_out_ = 0us;
  run(300);
  EXPECT_NEAR(error_us(), 0, 5);
  EXPECT_TRUE(bounded());
  EXPECT_LT(estimate().latest - estimate().earliest, 230us);
}

TEST_F(EstimatorTest, AssumesThatAShorterPathIsSymmetric) {
  extra_back_ = 80us;
  run(600);
  EXPECT_NEAR(error_us(), 40, 2);
  extra_back_ = 0us;
  run(20);
  EXPECT_NEAR(error_us(), 0, 3);
  EXPECT_TRUE(bounded());
}

TEST_F(EstimatorTest, AKnownStepOfTheReferenceKeepsTheAccuracy) {
  run(300);
  theta_ += 7s;
  estimator_.shift(7s);
  EXPECT_NEAR(error_us(), 0, 1);
  EXPECT_TRUE(bounded());
  run(20);
  EXPECT_NEAR(error_us(), 0, 1);
  EXPECT_FALSE(estimate().disturbed);
}

TEST_F(EstimatorTest, ResolutionWidensTheBound) {
  Estimator coarse(0, {.resolution = 1us});
  Estimator fine;
  const Exchange one = exchange(1s, 5ms, 100us, 100us);
  ASSERT_TRUE(coarse.add(one) && fine.add(one));
  const Estimate wide = coarse.at(Instant{1s});
  const Estimate narrow = fine.at(Instant{1s});
  EXPECT_NEAR(static_cast<double>((wide.latest - narrow.latest).count()), 1000, 1);
  EXPECT_NEAR(static_cast<double>((narrow.earliest - wide.earliest).count()), 1000, 1);
}

// A reference that drifts by less than the outlier limit at each exchange moves the fitted line.
// The line of some seconds ago limits the total drift.
TEST_F(EstimatorTest, LimitsADriftInSmallSteps) {
  run(200);
  Nanos error{0};
  const auto next_exchange = [&] { return exchange(now_, theta_ - error, 100us + error, 100us); };
  for (int i = 0; i < 7; ++i) {
    while (!estimator_.suspects(next_exchange())) error += 100ns;
    error -= 100ns;
    EXPECT_TRUE(estimator_.add(next_exchange()));
    now_ += 1s;
    theta_ += rate_;
  }
  EXPECT_GT(error, 1us);
  EXPECT_LT(error, 10us);
}

}  // namespace
}  // namespace tempo::clock
