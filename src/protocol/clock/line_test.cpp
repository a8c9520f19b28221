#include "protocol/clock/line.h"

#include <gtest/gtest.h>

namespace tempo::clock {
namespace {

constexpr Instant kStart{1000s};
constexpr WallTime kShows{1'700'000'000s};

TEST(Line, RunsAtItsRate) {
  const Line line(kStart, kShows, 50e-6);
  EXPECT_EQ(line.at(kStart), kShows);
  EXPECT_EQ(line.at(kStart + 1s), kShows + 1s + 50us);
  EXPECT_EQ(line.at(kStart - 2s), kShows - 2s - 100us);
}

TEST(Line, ANewRateChangesNothingThatWasShown) {
  Line line(kStart, kShows, 50e-6);
  line.set_rate(kStart + 10s, -20e-6);
  EXPECT_EQ(line.at(kStart + 10s), kShows + 10s + 500us);
  EXPECT_EQ(line.at(kStart + 11s), kShows + 11s + 500us - 20us);
  EXPECT_DOUBLE_EQ(line.rate(), -20e-6);
}

TEST(Line, AStepMovesItAndKeepsItsRate) {
  Line line(kStart, kShows, 50e-6);
  line.step(-3s);
  EXPECT_EQ(line.at(kStart + 1s), kShows - 2s + 50us);
}

TEST(LineDeathTest, ARateThatCannotBeIsOurMistake) {
  Line line(kStart, kShows, 0);
  EXPECT_DEATH(line.set_rate(kStart, 0.6), "rate");
}

}  // namespace
}  // namespace tempo::clock
