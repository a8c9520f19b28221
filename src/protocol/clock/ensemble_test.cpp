#include "protocol/clock/ensemble.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/random.h"

namespace tempo::clock {
namespace {

constexpr NodeId node(std::uint32_t i) { return NodeId{i}; }

// Clocks with different rates, measured with white noise of 0.2 us.
class EnsembleTest : public ::testing::Test {
 protected:
  void start(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      clocks_.push_back(i * 1e-3);
      rates_.push_back((i * 7 % 5) * 1e-6);
      present_.push_back(true);
    }
    round();
  }
  void round() {
    for (std::size_t i = 0; i < clocks_.size(); ++i) clocks_[i] += rates_[i] * Ensemble::kPeriod;
    std::vector<Measured> measured;
    for (std::uint32_t i = 0; i < clocks_.size(); ++i) {
      if (!present_[i] || node(i) == ensemble_.master()) continue;
      measured.push_back({.node = node(i),
                          .offset = clocks_[i] - master_clock() +
                                    noise_.normal(0, node(i) == perfect_ ? 0 : 0.2e-6),
                          .rate = rates_[i] - master_rate() + noise_.normal(0, 1e-9)});
    }
    ensemble_.round(Ensemble::kPeriod, measured);
  }
  void rounds(int count) {
    for (int i = 0; i < count; ++i) round();
  }
  double master_clock() const { return clocks_[static_cast<std::size_t>(ensemble_.master())]; }
  double master_rate() const { return rates_[static_cast<std::size_t>(ensemble_.master())]; }
  // The scale minus true time: it must grow at a constant rate.
  double scale() const { return master_clock() - ensemble_.offset(); }
  // Runs two rounds and returns the second difference of the scale.
  double bend() {
    const double before = scale();
    round();
    const double middle = scale();
    round();
    return std::abs(scale() - 2 * middle + before);
  }
  const MemberClock* member(std::uint32_t i) const {
    for (const MemberClock& one : ensemble_.members())
      if (one.node == node(i)) return &one;
    return nullptr;
  }

  Ensemble ensemble_{node(0)};
  Stream noise_{7, 0, 0};
  NodeId perfect_ = kNobody;  // measured without noise
  std::vector<double> clocks_;
  std::vector<double> rates_;
  std::vector<bool> present_;
};

TEST_F(EnsembleTest, StartsAsTheClockOfTheMaster) {
  start(4);
  EXPECT_EQ(ensemble_.offset(), 0);
  EXPECT_EQ(ensemble_.members().size(), 4U);
  EXPECT_EQ(ensemble_.members()[0].weight, 0.25);
}

TEST_F(EnsembleTest, HasAConstantRate) {
  start(8);
  rounds(100);
  for (int i = 0; i < 50; ++i) EXPECT_LT(bend(), 1e-6);
  EXPECT_FALSE(ensemble_.held());
  double sum = 0;
  for (const MemberClock& one : ensemble_.members()) {
    EXPECT_LE(one.weight, 0.36);
    sum += one.weight;
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

TEST_F(EnsembleTest, LimitsEachWeight) {
  perfect_ = node(3);
  start(8);
  for (int i = 0; i < 200; ++i) {
    round();
    for (const MemberClock& one : ensemble_.members()) EXPECT_LT(one.weight, 0.4);
  }
  EXPECT_GT(member(3)->weight, 0.25);
}

TEST_F(EnsembleTest, OneMemberIsTheScale) {
  start(1);
  rounds(10);
  EXPECT_FALSE(ensemble_.held());
  EXPECT_NEAR(scale(), clocks_[0], 1e-12);
}

TEST_F(EnsembleTest, RejectsAJumpAndReadmitsTheMember) {
  start(8);
  rounds(100);
  clocks_[3] += 200e-6;
  EXPECT_LT(bend(), 1e-6);
  EXPECT_EQ(member(3)->missed, 2U);
  rounds(2);
  ASSERT_NE(member(3), nullptr);
  EXPECT_EQ(member(3)->rounds, 0U);  // left and joined again
  EXPECT_EQ(member(3)->weight, 0);
  for (int i = 0; i < 50; ++i) EXPECT_LT(bend(), 1e-6);
  EXPECT_GT(member(3)->weight, 0.01);
}

TEST_F(EnsembleTest, RejectsAChangeOfRate) {
  start(8);
  rounds(100);
  rates_[5] += 1e-6;
  for (int i = 0; i < 50; ++i) EXPECT_LT(bend(), 1e-6);
}

TEST_F(EnsembleTest, AJumpOfTheMasterDoesNotMoveTheScale) {
  start(8);
  rounds(100);
  const double before = scale();
  round();
  const double step = scale() - before;
  clocks_[0] += 500e-6;
  rates_[0] += 2e-6;
  round();
  EXPECT_NEAR(scale(), before + 2 * step, 1e-6);
  EXPECT_NEAR(ensemble_.rate(), master_rate() - step / Ensemble::kPeriod, 0.2e-6);
  for (int i = 0; i < 50; ++i) EXPECT_LT(bend(), 2e-6) << i;
  EXPECT_NEAR(ensemble_.rate(), member(0)->rate, 1e-7);
}

TEST_F(EnsembleTest, LeavingAndReturningDoesNotMoveTheScale) {
  start(8);
  rounds(100);
  present_[2] = false;
  for (int i = 0; i < 5; ++i) EXPECT_LT(bend(), 1e-6);
  EXPECT_EQ(member(2), nullptr);
  present_[2] = true;
  for (int i = 0; i < 5; ++i) EXPECT_LT(bend(), 1e-6);
  EXPECT_NE(member(2), nullptr);
}

TEST_F(EnsembleTest, HoldsWithoutAMajority) {
  start(4);
  rounds(100);
  const double rate = master_rate() - ensemble_.rate();
  const double before = scale();
  clocks_[1] += 1e-3;
  clocks_[2] -= 1e-3;
  round();
  EXPECT_TRUE(ensemble_.held());
  EXPECT_NEAR(scale(), before + rate * Ensemble::kPeriod, 2e-6);
  rounds(10);
  EXPECT_FALSE(ensemble_.held());
}

TEST_F(EnsembleTest, ANewMasterContinuesTheScale) {
  start(8);
  rounds(100);
  const double before = scale();
  round();
  const double middle = scale();
  ensemble_ = Ensemble(node(6), ensemble_.members());
  EXPECT_NEAR(scale(), middle, 1e-6);
  round();
  EXPECT_LT(std::abs(scale() - 2 * middle + before), 1e-6);
  present_[0] = false;
  for (int i = 0; i < 20; ++i) EXPECT_LT(bend(), 1e-6);
}

TEST_F(EnsembleTest, ANewMasterMayMeasureTheOthersLate) {
  start(4);
  rounds(100);
  const double before = scale();
  round();
  const double step = scale() - before;
  ensemble_.hand_over(node(2));
  present_ = {false, false, true, false};
  rounds(10);
  EXPECT_EQ(ensemble_.members().size(), 4U);
  present_ = {true, true, true, true};
  EXPECT_LT(bend(), 1e-6);
  EXPECT_NEAR(scale(), before + 13 * step, 10e-6);
}

TEST_F(EnsembleTest, IgnoresInvalidMeasurements) {
  start(3);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Measured> bad{{.node = node(9), .offset = nan, .rate = 0}};
  ensemble_.round(16, bad);
  EXPECT_EQ(member(9), nullptr);
  EXPECT_TRUE(std::isfinite(ensemble_.offset()));
}

}  // namespace
}  // namespace tempo::clock
