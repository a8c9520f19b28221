#include "platform/clocks/stamps.h"

#include <array>
#include <optional>

#include <gtest/gtest.h>

namespace tempo::sys {
namespace {

constexpr Nanos kYear2025 = std::chrono::seconds{1735689600};

Instant raw(Nanos since_boot) { return Instant{since_boot}; }

// A reading 50 ns wide around `at` of a clock that is ahead of raw by `ahead`.
Bracket bracket(Nanos at, Nanos ahead = kYear2025) {
  return {.before = raw(at - 25ns), .real = at + ahead, .after = raw(at + 25ns)};
}

TEST(Stamps, AreConvertedByTheMiddleOfTheBracket) {
  StampConverter converter;
  EXPECT_EQ(converter.convert(bracket(10s), kYear2025 + 10s - 300us), raw(10s - 300us));
  EXPECT_EQ(converter.convert(bracket(11s), kYear2025 + 11s), raw(11s));
}

TEST(Stamps, OlderThanATenthOfASecondAreRefused) {
  StampConverter converter;
  EXPECT_EQ(converter.convert(bracket(10s), kYear2025 + 10s - 100ms), raw(10s - 100ms));
  EXPECT_EQ(converter.convert(bracket(10s), kYear2025 + 10s - 100ms - 1ns), std::nullopt);
}

TEST(Stamps, OfTheFutureAreRefusedBeyondTheBracket) {
  StampConverter converter;
  EXPECT_TRUE(converter.convert(bracket(10s), kYear2025 + 10s + 50ns));
  EXPECT_EQ(converter.convert(bracket(10s), kYear2025 + 10s + 51ns), std::nullopt);
}

TEST(Stamps, AreRefusedIfTheBracketIsTooWide) {
  StampConverter converter;
  const Bracket wide{.before = raw(10s), .real = kYear2025 + 10s, .after = raw(10s + 1ms + 1ns)};
  EXPECT_EQ(converter.convert(wide, kYear2025 + 10s), std::nullopt);
}

TEST(Stamps, FromBeforeAStepForwardsAreRefused) {
  StampConverter converter;
  ASSERT_TRUE(converter.convert(bracket(10s), kYear2025 + 10s));
  const Nanos stepped = kYear2025 + 20ms;
  // Taken at 10.05 s of the old clock; the step happens before the reading.
  EXPECT_EQ(converter.convert(bracket(10s + 60ms, stepped), kYear2025 + 10s + 50ms), std::nullopt);
  EXPECT_EQ(converter.convert(bracket(10s + 61ms, stepped), kYear2025 + 10s + 59ms), std::nullopt);
  // Taken after the step.
  EXPECT_EQ(converter.convert(bracket(10s + 70ms, stepped), stepped + 10s + 65ms), raw(10s + 65ms));
}

TEST(Stamps, FromBeforeAStepBackwardsAreRefused) {
  StampConverter converter;
  ASSERT_TRUE(converter.convert(bracket(10s), kYear2025 + 10s));
  const Nanos stepped = kYear2025 - 20ms;
  // The old timestamp would be converted to 10.070 s, 20 ms too late, which is past by now.
  ASSERT_FALSE(converter.convert(bracket(10s + 60ms, stepped), kYear2025 + 10s + 50ms));
  EXPECT_EQ(converter.convert(bracket(10s + 75ms, stepped), kYear2025 + 10s + 50ms), std::nullopt);
  EXPECT_EQ(converter.convert(bracket(10s + 90ms, stepped), stepped + 10s + 85ms), raw(10s + 85ms));
}

TEST(Stamps, AreConvertedDuringASlew) {
  StampConverter converter;
  ASSERT_TRUE(converter.convert(bracket(10s), kYear2025 + 10s));
  // 500 ppm for eight seconds: 4 ms, more than the step limit of neighbouring brackets.
  const Nanos slewed = kYear2025 + 4ms;
  EXPECT_TRUE(converter.convert(bracket(18s, slewed), slewed + 18s - 1ms));
}

// At 400 ppm an age of 50 ms is 20 microseconds longer in CLOCK_REALTIME than in raw time.
TEST(Stamps, FollowTheSlopeOfASlewedClock) {
  StampConverter converter;
  ASSERT_TRUE(converter.convert(bracket(10s), kYear2025 + 10s));
  const Nanos ahead = kYear2025 + 400us;
  const auto at = converter.convert(bracket(11s, ahead), ahead + 11s - 50ms - 20us);
  ASSERT_TRUE(at);
  EXPECT_LT(std::chrono::abs(*at - raw(11s - 50ms)), 10ns);
}

TEST(Stamps, ForgetTheSlopeAcrossAStep) {
  StampConverter converter;
  ASSERT_TRUE(converter.convert(bracket(10s), kYear2025 + 10s));
  const Nanos ahead = kYear2025 + 5s;  // would be a slope of five
  ASSERT_FALSE(converter.convert(bracket(11s, ahead), ahead + 11s - 1us));
  EXPECT_EQ(converter.convert(bracket(11s + 60ms, ahead), ahead + 11s + 10ms), raw(11s + 10ms));
}

TEST(Bracket, NarrowestOfThreeIsTaken) {
  const std::array brackets{
      Bracket{.before = raw(1us), .real = 1s, .after = raw(9us)},
      Bracket{.before = raw(10us), .real = 2s, .after = raw(11us)},
      Bracket{.before = raw(12us), .real = 3s, .after = raw(13us)},
  };
  EXPECT_EQ(narrowest(brackets).real, Nanos{2s});
}

TEST(Timespec, RoundsDownBeforeTheEpoch) {
  EXPECT_EQ(timespec_of(-1ns).tv_sec, -1);
  EXPECT_EQ(timespec_of(-1ns).tv_nsec, 999'999'999);
  EXPECT_EQ(nanos_of(timespec_of(-1500ms)), Nanos{-1500ms});
  EXPECT_EQ(nanos_of(timespec_of(kYear2025 + 1ns)), kYear2025 + 1ns);
}

}  // namespace
}  // namespace tempo::sys
