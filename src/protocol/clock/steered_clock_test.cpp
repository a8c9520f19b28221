#include "protocol/clock/steered_clock.h"

#include <gtest/gtest.h>

namespace tempo::clock {
namespace {

constexpr Instant kStart{1000s};
constexpr WallTime kShows{1'700'000'000s};

TEST(SteeredClock, RunsAtItsRate) {
  const SteeredClock dial(kStart, kShows, 50e-6);
  EXPECT_EQ(dial.at(kStart), kShows);
  EXPECT_EQ(dial.at(kStart + 1s), kShows + 1s + 50us);
  EXPECT_EQ(dial.at(kStart - 2s), kShows - 2s - 100us);
}

TEST(SteeredClock, ANewRateChangesNothingThatWasShown) {
  SteeredClock dial(kStart, kShows, 50e-6);
  dial.set_rate(kStart + 10s, -20e-6);
  EXPECT_EQ(dial.at(kStart + 10s), kShows + 10s + 500us);
  EXPECT_EQ(dial.at(kStart + 11s), kShows + 11s + 500us - 20us);
  EXPECT_DOUBLE_EQ(dial.rate(), -20e-6);
}

TEST(SteeredClock, AStepMovesItAndKeepsItsRate) {
  SteeredClock dial(kStart, kShows, 50e-6);
  dial.step(-3s);
  EXPECT_EQ(dial.at(kStart + 1s), kShows - 2s + 50us);
}

TEST(DialDeathTest, ARateThatCannotBeIsOurMistake) {
  SteeredClock dial(kStart, kShows, 0);
  EXPECT_DEATH(dial.set_rate(kStart, 0.6), "rate");
}

}  // namespace
}  // namespace tempo::clock
