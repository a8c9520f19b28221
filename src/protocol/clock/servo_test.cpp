#include "protocol/clock/servo.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "protocol/clock/dial.h"
#include "protocol/clock/testing/oscillator.h"

namespace tempo::clock {
namespace {

constexpr Instant kNow{1000s};

// The reference is at raw time plus an hour less `theta_more`.
Estimate theta(Nanos more, double rate = 0) {
  return {.theta = -1h + more, .rate = rate, .sigma = 0ns, .earliest = -1h, .latest = -1h};
}
WallTime wall(Nanos more) { return WallTime{kNow.time_since_epoch() + 1h + more}; }

// Whatever frequencies a servo may choose, a later reading of the dial is never lower.
RC_GTEST_PROP(Servo, NeverTurnsTheDialBack,
              (const std::vector<std::pair<std::int32_t, std::uint8_t>>& gaps)) {
  Servo servo;
  Instant now = kNow;
  Dial dial(now, wall(0ns), 0);
  servo.steer(now, dial.at(now), theta(0ns));
  WallTime last = dial.at(now);
  for (const auto& [gap, nanos] : gaps) {
    const Steering steering = servo.steer(now, dial.at(now), theta(Nanos{gap}, gap * 1e-13));
    RC_ASSERT(steering.step == 0ns);
    dial.set_rate(now, steering.frequency);
    for (int i = 0; i < 3; ++i) {
      now += Nanos{nanos};
      RC_ASSERT(dial.at(now) >= last);
      last = dial.at(now);
    }
  }
}

TEST(Servo, StepsOnceAtTheStart) {
  Servo servo;
  const Steering first = servo.steer(kNow, wall(7s), theta(0ns, 20e-6));
  EXPECT_EQ(first.step, -7s);
  EXPECT_NEAR(first.frequency, -20e-6, 1e-12);
  const Steering second = servo.steer(kNow, wall(7s), theta(0ns, 20e-6));
  EXPECT_EQ(second.step, 0ns);
  EXPECT_NEAR(second.frequency, -500e-6, 1e-12);
}

TEST(Servo, ANearStartNeedsNoStep) {
  Servo servo;
  EXPECT_EQ(servo.steer(kNow, wall(900ns), theta(0ns)).step, 0ns);
}

TEST(Servo, ClosesAGapWithinASecond) {
  Servo servo;
  servo.steer(kNow, wall(0ns), theta(0ns));
  const Steering ahead = servo.steer(kNow, wall(30us), theta(0ns, -5e-6));
  EXPECT_NEAR(ahead.frequency, 5e-6 - 30e-6, 1e-12);
  const Steering behind = servo.steer(kNow, wall(-30us), theta(0ns, -5e-6));
  EXPECT_NEAR(behind.frequency, 5e-6 + 30e-6, 1e-12);
}

TEST(Servo, StepsLaterOnlyBeyondTheLimit) {
  Servo servo({.step_limit = 100ms});
  servo.steer(kNow, wall(0ns), theta(0ns));
  EXPECT_EQ(servo.steer(kNow, wall(99ms), theta(0ns)).step, 0ns);
  EXPECT_EQ(servo.steer(kNow, wall(-101ms), theta(0ns)).step, 101ms);
}

TEST(Servo, HoldsTheLastGoodRate) {
  Servo servo;
  servo.steer(kNow, wall(50us), theta(0ns, 12e-6));
  EXPECT_NEAR(servo.hold().frequency, -12e-6, 1e-12);
  EXPECT_EQ(servo.hold().step, 0ns);
}

TEST(TimeBound, IsRawTimeLessTheta) {
  Estimate estimate = theta(0ns);
  estimate.earliest = -1h - 3us;
  estimate.latest = -1h + 5us;
  const TimeBound bound = time_bound(kNow, estimate);
  EXPECT_EQ(bound.earliest, wall(-5us));
  EXPECT_EQ(bound.latest, wall(3us));
}

// Estimator, servo and dial together: the wall clock follows the reference as well as the estimate.
TEST(Servo, TheSteeredClockFollowsTheReference) {
  using testing::Oscillator;
  Oscillator clock(35e-6, 1e-9, Stream(1, 1, 0));
  Stream jitter(1, 2, 0);
  Estimator estimator;
  Servo servo;
  Dial dial(clock.reading(0), WallTime{12345s}, 0);
  double worst = 0;
  for (int second = 0; second < 600; ++second) {
    const double out = 100e-6 + jitter.exponential(10e-6);
    const double back = 100e-6 + jitter.exponential(10e-6);
    const Instant asked = clock.reading(second);
    const Instant heard = clock.reading(second + out + back);
    ASSERT_TRUE(estimator.add({.asked = asked,
                               .received = Oscillator::wall(second + out),
                               .answered = Oscillator::wall(second + out),
                               .heard = heard}));
    if (second == 0) continue;  // a step after the second exchange at the earliest
    const double t = second + 0.5;
    const Instant now = clock.reading(t);
    const Steering steering = servo.steer(now, dial.at(now), estimator.at(now));
    EXPECT_TRUE(second == 1 || steering.step == 0ns);
    dial.step(steering.step);
    dial.set_rate(now, steering.frequency);
    const double later = second + 0.9;
    const auto error = dial.at(clock.reading(later)) - Oscillator::wall(later);
    if (second > 60) worst = std::max(worst, std::abs(static_cast<double>(error.count())));
  }
  EXPECT_LT(worst, 3000);
}

}  // namespace
}  // namespace tempo::clock
