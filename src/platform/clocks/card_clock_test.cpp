#include "platform/clocks/card_clock.h"

#include <gtest/gtest.h>
#include <linux/ptp_clock.h>

#include "platform/clocks/oscillator.h"

namespace tempo::sys {
namespace {

ptp_clock_time at(std::int64_t seconds, std::uint32_t nanos) {
  return {.sec = seconds, .nsec = nanos, .reserved = 0};
}

// Raw time 100 s corresponds to 5,000 s of the kernel clock.
constexpr Bracket kNow{
    .before = Instant{100s - 20ns}, .real = 5000s, .after = Instant{100s + 20ns}};

TEST(CardClock, UsesTheNarrowestReading) {
  ptp_sys_offset_extended readings{};
  readings.n_samples = 3;
  const auto put = [&](unsigned i, ptp_clock_time before, ptp_clock_time card,
                       ptp_clock_time after) {
    readings.ts[i][0] = before;
    readings.ts[i][1] = card;
    readings.ts[i][2] = after;
  };
  put(0, at(5000, 1000), at(37, 500), at(5000, 3000));
  put(1, at(5000, 4000), at(37, 2600), at(5000, 4400));
  put(2, at(5000, 5000), at(37, 4000), at(5000, 5900));
  const auto bracket = bracket_of(readings, kNow);
  ASSERT_TRUE(bracket);
  EXPECT_EQ(bracket->before, Instant{100s + 4000ns});
  EXPECT_EQ(bracket->after, Instant{100s + 4400ns});
  EXPECT_EQ(bracket->real, 37s + 2600ns);
}

TEST(CardClock, ReadsTimesBefore1970) {
  ptp_sys_offset_extended readings{};
  readings.n_samples = 1;
  readings.ts[0][0] = at(5000, 0);
  readings.ts[0][1] = at(-1, 999'999'000);
  readings.ts[0][2] = at(5000, 100);
  const auto bracket = bracket_of(readings, kNow);
  ASSERT_TRUE(bracket);
  EXPECT_EQ(bracket->real, -1us);
}

TEST(CardClock, ReportsMissingReadings) {
  EXPECT_FALSE(bracket_of(ptp_sys_offset_extended{}, kNow));
}

// Such a bracket converts a timestamp of the card like one of the kernel.
TEST(CardClock, ConvertsStamps) {
  ptp_sys_offset_extended readings{};
  readings.n_samples = 1;
  readings.ts[0][0] = at(5000, 0);
  readings.ts[0][1] = at(37, 1000);
  readings.ts[0][2] = at(5000, 400);
  const auto bracket = bracket_of(readings, kNow);
  ASSERT_TRUE(bracket);
  StampConverter converter;
  const auto raw = converter.convert(*bracket, 37s + 1000ns - 50us);
  ASSERT_TRUE(raw);
  EXPECT_EQ(*raw, Instant{100s + 200ns - 50us});
}

TEST(CardClock, LoopbackAndUnknownInterfacesHaveNone) {
  EXPECT_EQ(open_card_clock("lo"), nullptr);
  EXPECT_EQ(open_card_clock("no-such-card"), nullptr);
  EXPECT_EQ(open_card_clock("a-name-that-is-longer-than-any"), nullptr);
}

}  // namespace
}  // namespace tempo::sys
