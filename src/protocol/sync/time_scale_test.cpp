#include "protocol/sync/time_scale.h"

#include <gtest/gtest.h>

namespace tempo::node {
namespace {

constexpr Instant kStart{1000s};

// A master whose members report the true offsets of clocks with constant rates.
class TimeScaleTest : public ::testing::Test {
 protected:
  void report(std::uint32_t i, double rate, bool objects = false) {
    const double t = std::chrono::duration<double>(now_ - kStart).count();
    scale_.report(now_, NodeId{i},
                  {.offset = 1h * i + Nanos{std::llround((rate * t + jump_[i]) * 1e9)},
                   .rate_ppt = std::llround(rate * 1e12),
                   .sigma = 100ns,
                   .objects = objects});
  }
  // All members report every second, with rates of 1, 2, 3, ... ppm.
  void pass(Nanos span) {
    for (const Instant end = now_ + span; now_ < end;) {
      now_ += 1s;
      for (std::uint32_t i = 0; i < 5; ++i)
        if (present_[i]) report(i, (i + 1) * 1e-6);
    }
  }

  TimeScale scale_;
  Instant now_ = kStart;
  std::array<double, 5> jump_{};
  std::array<bool, 5> present_{true, true, true, true, true};
};

TEST_F(TimeScaleTest, AYoungNetworkAdoptsTheAverageRate) {
  scale_.begin(now_, true);
  pass(30s);
  EXPECT_TRUE(scale_.young(now_));
  EXPECT_NEAR(*scale_.average_rate(now_, 200e-6), (0 + 1 + 2 + 3 + 4 + 5) * 1e-6 / 6, 1e-10);
  report(4, 5000e-6);
  EXPECT_NEAR(*scale_.average_rate(now_, 200e-6), (0 + 1 + 2 + 3 + 4) * 1e-6 / 5, 1e-10);
  EXPECT_TRUE(scale_.members().find(NodeId{4})->faulty);
  EXPECT_FALSE(scale_.members().find(NodeId{3})->faulty);
  pass(20s);
  EXPECT_FALSE(scale_.young(now_));
}

// A delayed direction made the only member claim a wrong rate, and a tie of two rates was decided
// for it: the master ran 500 ppm fast, and its bound was 0.
TEST_F(TimeScaleTest, AContradictionDoesNotSteerButWidensTheBound) {
  present_ = {true, false, false, false, false};
  scale_.begin(now_, true);
  pass(20s);
  EXPECT_NEAR(*scale_.average_rate(now_, 200e-6), 0.5e-6, 1e-10);
  const auto disturbed = [&](Nanos span) {
    for (const Instant end = now_ + span; now_ < end;) {
      now_ += 1s;
      scale_.report(now_, NodeId{0},
                    {.offset = 200ms, .rate_ppt = 150'000'000, .sigma = 100ns, .bound = 200ms});
    }
  };
  disturbed(10s);
  EXPECT_FALSE(scale_.average_rate(now_, 200e-6)) << "within the agreement, beyond its limits";
  EXPECT_TRUE(scale_.members().find(NodeId{0})->faulty);
  // Its rate was proved to be 1 +- 10 ppm.
  EXPECT_NEAR(static_cast<double>(scale_.doubt(now_).count()), 9 * 139e3, 5e3);
  pass(1s);
  EXPECT_EQ(scale_.doubt(now_), 0ns);
  EXPECT_NEAR(*scale_.average_rate(now_, 200e-6), 0.5e-6, 1e-10);
  // The clock may really have changed: after a minute that is believed.
  disturbed(61s);
  EXPECT_EQ(scale_.doubt(now_), 0ns);
  // With two other members a majority decides, and the bound stays.
  present_ = {true, true, true, false, false};
  pass(20s);
  disturbed(1s);
  for (const std::uint32_t i : {1U, 2U}) report(i, (i + 1) * 1e-6);
  EXPECT_EQ(scale_.doubt(now_), 0ns);
  EXPECT_TRUE(scale_.average_rate(now_, 200e-6));
}

TEST_F(TimeScaleTest, AnUnknownRateIsNotAveraged) {
  scale_.begin(now_, true);
  now_ += 1s;
  scale_.report(now_, NodeId{0}, {.rate_ppt = 90'000'000, .sigma = 100us});
  now_ += 1s;
  EXPECT_EQ(scale_.average_rate(now_, 200e-6), 0);
}

// The member that knows network time worst may lead next.
TEST_F(TimeScaleTest, ReportsTheWorstKnowledgeOfItsMembers) {
  scale_.begin(now_, false);
  EXPECT_FALSE(scale_.worst(now_));
  pass(30s);
  ASSERT_TRUE(scale_.worst(now_));
  EXPECT_TRUE(scale_.worst(now_)->rate_known);
  EXPECT_NEAR(scale_.worst(now_)->span, 29, 1e-9);
  now_ += 2s;
  scale_.report(now_, NodeId{7}, {.error = -30us, .sigma = 100us, .bound = 400us});
  now_ += 1s;
  EXPECT_FALSE(scale_.worst(now_)->rate_known);
  EXPECT_NEAR(scale_.worst(now_)->span, 1, 1e-9);
  EXPECT_NEAR(scale_.worst(now_)->sigma, 100e-6, 1e-12);
  EXPECT_EQ(scale_.worst(now_)->bound, 430us);
  now_ += 1h;
  EXPECT_FALSE(scale_.worst(now_)) << "no member reports any more";
}

// The scale starts at the steered clock and stays as even as its member clocks when a member jumps,
// leaves or returns.
TEST_F(TimeScaleTest, NoMemberMakesItJump) {
  scale_.begin(now_, false);
  clock::SteeredClock steered(now_, WallTime{5000s}, 2e-6);
  clock::Aim last = scale_.round(now_, steered, -2e-6);
  for (int round = 0; round < 200; ++round) {
    if (round == 60) jump_[2] = 300e-6;
    if (round == 80) present_[3] = false;
    if (round == 120) present_[3] = true;
    pass(TimeScale::kRound);
    const clock::Aim aim = scale_.round(now_, steered, -2e-6);
    EXPECT_NEAR(static_cast<double>((aim.theta - last.theta).count()), -2e-6 * 16e9, 60) << round;
    if (round == 60) {
      EXPECT_TRUE(scale_.members().find(NodeId{2})->faulty);
    }
    last = aim;
  }
  EXPECT_NEAR(last.rate, -2e-6, 1e-9);
}

TEST_F(TimeScaleTest, AMajorityOutvotesTheMaster) {
  scale_.begin(now_, false);
  pass(2s);
  report(0, 1e-6, true);
  report(1, 2e-6, true);
  EXPECT_FALSE(scale_.outvoted(now_)) << "two of five";
  report(2, 3e-6, true);
  EXPECT_TRUE(scale_.outvoted(now_));
  now_ += 7s;
  EXPECT_FALSE(scale_.outvoted(now_)) << "objections expire";
}

TEST_F(TimeScaleTest, OneAgainstOneDecidesNothing) {
  scale_.begin(now_, false);
  report(0, 1e-6, true);
  EXPECT_FALSE(scale_.outvoted(now_));
}

}  // namespace
}  // namespace tempo::node
