#include "lab/sim/oscillator.h"

#include <vector>

#include <gtest/gtest.h>

#include "lab/sim/allan.h"

namespace tempo::sim {
namespace {

constexpr Instant at(double seconds) {
  return Instant{Nanos{static_cast<Nanos::rep>(seconds * 1e9)}};
}

TEST(Oscillator, RunsAtItsRateFromItsOffset) {
  Oscillator clock({.offset = 2, .rate = 10e-6}, Stream(1, 1, 0));
  EXPECT_NEAR(clock.ahead(0), 2, 1e-12);
  EXPECT_NEAR(clock.ahead(1000), 2.01, 1e-12);
  EXPECT_EQ(clock.shows(at(1000)), at(1002.01));
}

TEST(Oscillator, PredictsWhenItShowsATime) {
  Oscillator clock({.offset = 5, .rate = -40e-6}, Stream(1, 1, 0));
  const Instant when = clock.when(at(105), at(10));
  EXPECT_GE(clock.shows(when), at(105));
  EXPECT_LT(clock.shows(when) - at(105), 3ns);
  EXPECT_EQ(clock.when(at(1), when), when) << "a time in the past is due now";
}

TEST(Oscillator, AgesAndJumps) {
  Oscillator clock({.aging = 1e-9}, Stream(1, 1, 0));
  EXPECT_NEAR(clock.ahead(1000), 0.5 * 1e-9 * 1e6, 1e-6 * 1e-3 * 200);
  const double before = clock.ahead(1000);
  clock.jump(0.25);
  clock.change_rate(1000, 1e-3);
  EXPECT_NEAR(clock.ahead(1001) - before, 0.251, 1e-5);
}

// The new rate used to count from the last query or the start of a step, so that the clock jumped.
TEST(Oscillator, AChangeOfTheRateDoesNotMoveTheClock) {
  for (const bool asked : {true, false}) {
    Oscillator clock({.offset = 1, .rate = 5e-6}, Stream(1, 1, 0));
    if (asked) clock.ahead(10.3);
    clock.change_rate(10.3, -1e-3);
    EXPECT_NEAR(clock.ahead(10.3), 1 + 10.3 * 5e-6, 1e-12) << asked;
    const double before = clock.ahead(10.3);
    EXPECT_NEAR(clock.ahead(11.3) - before, 5e-6 - 1e-3, 1e-12) << asked;
  }
}

// The cycle ends where it began and is at its extreme after a quarter.
TEST(Oscillator, TemperatureIsPeriodic) {
  Oscillator clock({.cycle = 1e-6, .cycle_seconds = 1000}, Stream(1, 1, 0));
  clock.ahead(250);
  EXPECT_NEAR(clock.rate(), 1e-6, 1e-9);
  clock.ahead(750);
  EXPECT_NEAR(clock.rate(), -1e-6, 1e-9);
  EXPECT_NEAR(clock.ahead(1000), 0, 1e-9);
}

// A rate that walks at random by w per square root of a second has an Allan deviation of
// w * sqrt(tau / 3); white noise of the phase's advance has w / sqrt(tau).
TEST(Oscillator, NoiseHasTheExpectedAllanDeviation) {
  for (const bool walks : {true, false}) {
    Oscillator clock({.wander = walks ? 1e-9 : 0, .white = walks ? 0 : 1e-9}, Stream(7, 1, 0));
    std::vector<double> phase;
    for (int t = 0; t < 20000; ++t) phase.push_back(clock.ahead(t));
    for (const double tau : {4.0, 16.0}) {
      const double expected = 1e-9 * (walks ? std::sqrt(tau / 3) : 1 / std::sqrt(tau));
      EXPECT_NEAR(allan_deviation(phase, 1, tau) / expected, 1, 0.15) << tau << ' ' << walks;
    }
  }
}

TEST(AllanDeviation, OfAConstantDriftIsKnown) {
  std::vector<double> phase;
  for (int t = 0; t < 100; ++t) phase.push_back(0.5 * 1e-9 * t * t);
  EXPECT_NEAR(allan_deviation(phase, 1, 16), 1e-9 * 16 / std::sqrt(2), 1e-15);
  EXPECT_EQ(allan_deviation(phase, 1, 64), 0) << "the series is too short";
}

}  // namespace
}  // namespace tempo::sim
