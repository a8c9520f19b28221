// A network with a frequency error and members that report UTC: the gap must close.
#include "protocol/clock/utc.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace tempo::clock {
namespace {

// Network time with a rate of `own` against UTC, steered once per second.
struct Network {
  double gap;  // UTC minus network time
  double own;  // rate of network time against UTC, unsteered
  UtcFollower follower{};
  double largest_bend = 0;  // change of rate in one round

  void run(int seconds, const auto& claims) {
    for (int i = 0; i < seconds; ++i) {
      const double before = follower.rate();
      const double rate = follower.round(1, claims(gap));
      largest_bend = std::max(largest_bend, std::abs(rate - before));
      ASSERT_LE(std::abs(rate), UtcFollower::kMaxRate);
      gap -= own + rate;
    }
  }
};

std::vector<UtcClaim> one_honest(double gap) { return {{.gap = gap, .bound = 1e-3}}; }

TEST(UtcFollower, ClosesAGapAndLearnsTheRate) {
  Network network{.gap = 5e-3, .own = -2e-6};
  network.run(10'000, one_honest);
  EXPECT_LT(std::abs(network.gap), 1e-6);
  EXPECT_NEAR(network.follower.rate(), 2e-6, 1e-9);
}

// Members predict network time by the last rate that they received, so it must not bend faster than
// kMaxBend.
TEST(UtcFollower, BendsSlowly) {
  Network network{.gap = 1, .own = 0};
  network.run(10'000, one_honest);
  network.gap = -1;
  network.run(10'000, one_honest);
  EXPECT_LE(network.largest_bend, UtcFollower::kMaxBend * (1 + 1e-9));
  EXPECT_GT(network.largest_bend, UtcFollower::kMaxBend / 2);
}

// A gap of 1 s: accelerating to about sqrt(3e-9) and braking takes at least 2 / sqrt(3e-9), ten
// hours.
TEST(UtcFollower, ClosesALargeGapSlowly) {
  Network network{.gap = 1, .own = 0};
  network.run(20'000, one_honest);
  EXPECT_GT(network.gap, 0.1);
  double least = network.gap;
  for (int i = 0; i < 80'000; ++i) {
    network.run(1, one_honest);
    least = std::min(least, network.gap);
  }
  EXPECT_GT(least, -0.1);  // overshoot: the trim adapts on the way
  EXPECT_LT(std::abs(network.gap), 1e-6);
}

TEST(UtcFollower, HoldsTheRateWithoutReports) {
  Network network{.gap = 5e-3, .own = -2e-6};
  network.run(10'000, one_honest);
  network.run(1000, [](double) { return std::vector<UtcClaim>{}; });
  EXPECT_EQ(network.follower.gap(), std::nullopt);
  EXPECT_LT(std::abs(network.gap), 3e-6);  // 1e-9 for 1000 s, plus the remaining gap
}

TEST(UtcFollower, OutvotesAFalseticker) {
  Network network{.gap = 5e-3, .own = 0};
  network.run(10'000, [](double gap) {
    return std::vector<UtcClaim>{{.gap = gap + 100e-6, .bound = 1e-3},
                                 {.gap = gap + 3600, .bound = 1e-6},
                                 {.gap = gap - 100e-6, .bound = 1e-3}};
  });
  EXPECT_LT(std::abs(network.gap), 110e-6);
}

// Two reports contradict each other: neither is followed.
TEST(UtcFollower, IgnoresReportsWithoutAMajority) {
  UtcFollower follower;
  const std::vector<UtcClaim> claims{{.gap = 1, .bound = 0.1}, {.gap = -1, .bound = 0.1}};
  EXPECT_EQ(follower.round(1, claims), 0);
  EXPECT_EQ(follower.gap(), std::nullopt);
}

TEST(UtcFollower, WeighsByTheBound) {
  UtcFollower follower;
  const std::vector<UtcClaim> claims{{.gap = 1e-3, .bound = 10e-3}, {.gap = 0, .bound = 1e-6}};
  follower.round(1, claims);
  ASSERT_TRUE(follower.gap());
  EXPECT_LT(std::abs(*follower.gap()), 1e-9 + 1e-6);
}

// Noise of a millisecond on every report.
TEST(UtcFollower, SmoothsNoisyReports) {
  Network network{.gap = 0, .own = 0};
  int i = 0;
  network.run(4000, [&](double gap) {
    return std::vector<UtcClaim>{{.gap = gap + (++i % 2 == 0 ? 1e-3 : -1e-3), .bound = 2e-3}};
  });
  EXPECT_LT(std::abs(network.gap), 50e-6);
}

TEST(LeapSmear, SmearsAnInsertedSecond) {
  LeapSmear smear;
  const Nanos midnight = 1'483'228'800s;
  EXPECT_EQ(smear.utc(Instant{100s}, midnight - 1s, 36), midnight - 1s);
  // The kernel stepped back by a second at midnight: it shows the middle of the repeated second.
  const Nanos first = smear.utc(Instant{101s + 500ms}, midnight - 500ms, 37);
  EXPECT_EQ(first, midnight + 500ms - 75us);  // 1.5 s at 50 ppm are smeared
  // After 10,000 s half of it remains.
  EXPECT_EQ(smear.utc(Instant{10'100s}, midnight + 9'998s + 0ms, 37),
            midnight + 9'998s + 1s - 500ms);
  EXPECT_EQ(smear.utc(Instant{30'100s}, midnight + 29'998s, 37), midnight + 29'998s);
}

TEST(LeapSmear, SmearsADeletedSecond) {
  LeapSmear smear;
  smear.utc(Instant{100s}, 1'000'000s, 37);
  EXPECT_EQ(smear.utc(Instant{101s}, 1'000'002s, 36), 1'000'001s + 50us);
}

TEST(LeapSmear, IgnoresOtherSteps) {
  LeapSmear smear;
  smear.utc(Instant{100s}, 1'000'000s, 0);
  EXPECT_EQ(smear.utc(Instant{101s}, 1'000'001s, 37), 1'000'001s);  // a user set the TAI offset
  EXPECT_EQ(smear.utc(Instant{102s}, 1'000'001s, 37), 1'000'001s);  // a user set the clock back
  EXPECT_EQ(smear.utc(Instant{103s}, 1'000'002s, 38),
            1'000'002s);  // a user set the TAI offset again
}

}  // namespace
}  // namespace tempo::clock
