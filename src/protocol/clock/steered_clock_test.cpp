#include "protocol/clock/steered_clock.h"

#include <gtest/gtest.h>

namespace tempo::clock {
namespace {

constexpr Instant kStart{1000s};
constexpr WallTime kShows{1'700'000'000s};

TEST(SteeredClock, RunsAtItsRate) {
  const SteeredClock clock(kStart, kShows, 50e-6);
  EXPECT_EQ(clock.at(kStart), kShows);
  EXPECT_EQ(clock.at(kStart + 1s), kShows + 1s + 50us);
  EXPECT_EQ(clock.at(kStart - 2s), kShows - 2s - 100us);
}

TEST(SteeredClock, ANewRateKeepsEarlierReadings) {
  SteeredClock clock(kStart, kShows, 50e-6);
  clock.set_rate(kStart + 10s, -20e-6);
  EXPECT_EQ(clock.at(kStart + 10s), kShows + 10s + 500us);
  EXPECT_EQ(clock.at(kStart + 11s), kShows + 11s + 500us - 20us);
  EXPECT_DOUBLE_EQ(clock.rate(), -20e-6);
}

TEST(SteeredClock, AStepMovesItAndKeepsItsRate) {
  SteeredClock clock(kStart, kShows, 50e-6);
  clock.step(-3s);
  EXPECT_EQ(clock.at(kStart + 1s), kShows - 2s + 50us);
}

TEST(SteeredClockDeathTest, RefusesAnImpossibleRate) {
  SteeredClock clock(kStart, kShows, 0);
  EXPECT_DEATH(clock.set_rate(kStart, 0.6), "rate");
}

}  // namespace
}  // namespace tempo::clock
