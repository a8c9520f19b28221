#include "protocol/clock/estimation/guard.h"

#include <gtest/gtest.h>

#include "lab/studies/sync/made.h"

namespace tempo::clock {
namespace {

using testing::made;
using testing::SlotMaker;

constexpr double kSigma = 1e-7;
constexpr std::array<double, 2> kNone{0, 0};

// 128 slots of 100 us and 10 us of jitter each way, and theta = 0.
class GuardTest : public ::testing::Test {
 protected:
  GuardTest() {
    SlotMaker maker({}, 1e-5);
    Slots slots;
    maker.add(slots, 128);
    usual_.measure(slots, {});
  }

  bool hold(double out, double back) {
    const Sample sample = made(t_++, {}, out, back);
    return guard_.hold(sample, sample, {}, kSigma, usual_);
  }

  Usual usual_;
  Guard guard_;
  double t_ = 200.5;
};

TEST_F(GuardTest, LetsTheUsualPass) {
  EXPECT_FALSE(hold(1e-4, 1e-4));
  EXPECT_FALSE(hold(5e-3, 9e-3));
  EXPECT_FALSE(guard_.disturbed());
}

TEST_F(GuardTest, HoldsWhatIsTooQuick) {
  EXPECT_TRUE(hold(5e-5, 1e-4));
  EXPECT_TRUE(hold(1e-4, 5e-5));
  EXPECT_TRUE(guard_.disturbed());
  EXPECT_FALSE(guard_.verdict(kNone, usual_));
}

TEST_F(GuardTest, KnowsNothingBeforeItKnowsWhatIsUsual) {
  Guard guard;
  const Sample sample = made(0.5, {}, 0, 0);
  EXPECT_FALSE(guard.hold(sample, sample, {}, kSigma, Usual{}));
}

TEST_F(GuardTest, ForgetsALonelyOne) {
  EXPECT_TRUE(hold(5e-5, 1e-4));
  for (std::uint64_t i = 0; i < Guard::kPatience; ++i) {
    EXPECT_TRUE(guard_.disturbed());
    EXPECT_FALSE(hold(1e-4, 1e-4));
  }
  EXPECT_FALSE(hold(1e-4, 1e-4));
  EXPECT_FALSE(guard_.disturbed());
}

TEST_F(GuardTest, AJumpOfTheClockMovesBothWays) {
  for (const double by : {1e-3, -1e-3}) {
    guard_ = {};
    for (std::size_t i = 0; i < Guard::kAgree; ++i) {
      EXPECT_FALSE(guard_.verdict(kNone, usual_));
      EXPECT_TRUE(hold(1e-4 - by, 1e-4 + by));
    }
    const auto verdict = guard_.verdict(kNone, usual_);
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->what, Verdict::What::clock_jumped);
    EXPECT_NEAR(verdict->by, by, 1e-6);
  }
}

TEST_F(GuardTest, AShorterPathMovesOneWay) {
  for (std::size_t i = 0; i < Guard::kAgree; ++i) EXPECT_TRUE(hold(1e-4, 4e-5));
  const auto verdict = guard_.verdict(kNone, usual_);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->what, Verdict::What::shorter_path);
  EXPECT_EQ(verdict->way, Way::back);
  EXPECT_NEAR(verdict->by, 6e-5, 1e-6);
  EXPECT_EQ(verdict->other_by, 0);
}

TEST_F(GuardTest, BothWaysMayBecomeShorter) {
  for (std::size_t i = 0; i < Guard::kAgree; ++i) EXPECT_TRUE(hold(4e-5, 5e-5));
  const auto verdict = guard_.verdict(kNone, usual_);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->what, Verdict::What::shorter_path);
  EXPECT_NEAR(verdict->by, 6e-5, 1e-6);
  EXPECT_NEAR(verdict->other_by, 5e-5, 1e-6);
}

TEST_F(GuardTest, TheOldPathEndsACorrection) {
  for (std::size_t i = 0; i < Guard::kAgree; ++i) EXPECT_TRUE(hold(-1e-4, 1e-4));
  const auto verdict = guard_.verdict({1.5e-4, 0}, usual_);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->what, Verdict::What::old_path);
  EXPECT_NEAR(verdict->by, 1.5e-4, 1e-12);
}

TEST_F(GuardTest, ThoseThatDisagreeAreNotBelieved) {
  for (const double out : {-1e-3, 2e-5, -4e-3, 3e-5}) EXPECT_TRUE(hold(out, 1e-4));
  EXPECT_FALSE(guard_.verdict(kNone, usual_));
}

TEST_F(GuardTest, ReleasesOneWayOnly) {
  EXPECT_TRUE(hold(5e-5, 1e-4));
  EXPECT_TRUE(hold(1e-4, 5e-5));
  EXPECT_EQ(guard_.release(Way::out).size(), 1U);
  ASSERT_EQ(guard_.held().size(), 1U);
  EXPECT_EQ(guard_.held()[0].way, Way::back);
}

}  // namespace
}  // namespace tempo::clock
