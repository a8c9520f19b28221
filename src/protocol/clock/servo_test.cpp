#include "protocol/clock/servo.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lab/studies/sync/oscillator.h"
#include "protocol/clock/estimation/estimator.h"
#include "protocol/clock/steered_clock.h"

namespace tempo::clock {
namespace {

constexpr Instant kNow{1000s};

// The reference shows raw time plus an hour minus `more`.
Aim theta(Nanos more, double rate = 0) { return {.theta = -1h + more, .rate = rate}; }
WallTime wall(Nanos more) { return WallTime{kNow.time_since_epoch() + 1h + more}; }

// For any sequence of frequencies, a later reading of the steered clock is never lower.
RC_GTEST_PROP(Servo, NeverTurnsTheClockBack,
              (const std::vector<std::pair<std::int32_t, std::uint8_t>>& offsets)) {
  Servo servo;
  Instant now = kNow;
  SteeredClock clock(now, wall(0ns), 0);
  servo.steer(now, clock.at(now), theta(0ns), {});
  WallTime last = clock.at(now);
  for (const auto& [offset, nanos] : offsets) {
    const Steering steering =
        servo.steer(now, clock.at(now), theta(Nanos{offset}, offset * 1e-13), {});
    RC_ASSERT(steering.step == 0ns);
    clock.set_rate(now, steering.frequency);
    for (int i = 0; i < 3; ++i) {
      now += Nanos{nanos};
      RC_ASSERT(clock.at(now) >= last);
      last = clock.at(now);
    }
  }
}

TEST(Servo, StepsFromTheConfiguredOffset) {
  Servo servo;
  const Steering stepped = servo.steer(kNow, wall(7s), theta(0ns, 20e-6), {.step_from = 7s});
  EXPECT_EQ(stepped.step, -7s);
  EXPECT_NEAR(stepped.frequency, -20e-6, 1e-12);
  EXPECT_EQ(stepped.settles, 0ns);
  const Steering slewed = servo.steer(kNow, wall(7s), theta(0ns, 20e-6), {.step_from = 7s + 1ns});
  EXPECT_EQ(slewed.step, 0ns);
  EXPECT_NEAR(slewed.frequency, -500e-6, 1e-12);
}

TEST(Servo, CorrectsAnOffsetWithinThePeriod) {
  Servo servo;
  const Steering ahead = servo.steer(kNow, wall(30us), theta(0ns, -5e-6), {});
  EXPECT_NEAR(ahead.frequency, 5e-6 - 30e-6, 1e-12);
  EXPECT_EQ(ahead.settles, 1s);
  const Steering behind = servo.steer(kNow, wall(-30us), theta(0ns, -5e-6), {.period = 10s});
  EXPECT_NEAR(behind.frequency, 5e-6 + 3e-6, 1e-12);
  EXPECT_EQ(behind.settles, 10s);
}

// An offset that the period is too short for is corrected at the maximum frequency.
TEST(Servo, TakesLongerForALargeOffset) {
  Servo servo;
  const Steering far = servo.steer(kNow, wall(10ms), theta(0ns), {});
  EXPECT_NEAR(far.frequency, -500e-6, 1e-12);
  EXPECT_EQ(far.settles, 20s);
}

TEST(Servo, LimitsTheChangeOfFrequency) {
  Servo servo(3e-6);
  const SlewOptions options{.period = 32s, .most_change = 0.1e-6};
  EXPECT_NEAR(servo.steer(kNow, wall(100us), theta(0ns, 3e-6), options).frequency, -3.1e-6, 1e-12);
  EXPECT_NEAR(servo.steer(kNow, wall(100us), theta(0ns, 3e-6), options).frequency, -3.2e-6, 1e-12);
  EXPECT_NEAR(servo.steer(kNow, wall(0ns), theta(0ns, 3e-6), options).frequency, -3.1e-6, 1e-12);
}

TEST(Servo, HoldsTheLastRate) {
  Servo servo;
  servo.steer(kNow, wall(50us), theta(0ns, 12e-6), {});
  EXPECT_NEAR(servo.hold().frequency, -12e-6, 1e-12);
  EXPECT_EQ(servo.hold().step, 0ns);
  EXPECT_NEAR(servo.hold(-4e-6).frequency, 4e-6, 1e-12);
  EXPECT_NEAR(Servo(600e-6).hold().frequency, -500e-6, 1e-12);
}

// Estimator, servo and steered clock together: the wall clock follows the reference as accurately
// as the estimate.
TEST(Servo, SteeredClockFollowsTheReference) {
  using testing::Oscillator;
  Oscillator oscillator(35e-6, 1e-9, Stream(1, 1, 0));
  Stream jitter(1, 2, 0);
  Estimator estimator;
  Servo servo;
  SteeredClock clock(oscillator.reading(0), WallTime{12345s}, 0);
  double worst = 0;
  for (int second = 0; second < 600; ++second) {
    const double out = 100e-6 + jitter.exponential(10e-6);
    const double back = 100e-6 + jitter.exponential(10e-6);
    const Instant asked = oscillator.reading(second);
    const Instant heard = oscillator.reading(second + out + back);
    ASSERT_TRUE(estimator.add({.asked = asked,
                               .received = Oscillator::wall(second + out),
                               .answered = Oscillator::wall(second + out),
                               .heard = heard}));
    if (second == 0) continue;  // step after the second exchange
    const double t = second + 0.5;
    const Instant now = oscillator.reading(t);
    const Estimate estimate = estimator.at(now);
    const SlewOptions options{.step_from = second == 1 ? 0ns : Nanos::max()};
    const Steering steering =
        servo.steer(now, clock.at(now), {.theta = estimate.theta, .rate = estimate.rate}, options);
    clock.step(steering.step);
    clock.set_rate(now, steering.frequency);
    const double later = second + 0.9;
    const auto error = clock.at(oscillator.reading(later)) - Oscillator::wall(later);
    if (second > 60) worst = std::max(worst, std::abs(static_cast<double>(error.count())));
  }
  EXPECT_LT(worst, 3000);
}

}  // namespace
}  // namespace tempo::clock
