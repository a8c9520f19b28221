// Formats of times and offsets.
#include "cli/time/set_time.h"

#include <string>

#include <gtest/gtest.h>

namespace tempo::cli {
namespace {

TEST(SetOffset, HaveASignOrNone) {
  EXPECT_EQ(parse_set_offset("1.5s"), 1'500'000'000);
  EXPECT_EQ(parse_set_offset("+250ms"), 250'000'000);
  EXPECT_EQ(parse_set_offset("-2min"), -120'000'000'000);
  EXPECT_EQ(parse_set_offset("0"), 0);
  for (const char* text : {"", "-", "--1s", "soon"}) EXPECT_FALSE(parse_set_offset(text)) << text;
}

TEST(Times, AreUtcHoweverTheyAreWritten) {
  constexpr std::int64_t kThen = 1'700'000'000'000'000'000;
  EXPECT_EQ(parse_utc("2023-11-14 22:13:20"), kThen);
  EXPECT_EQ(parse_utc("2023-11-14T22:13:20Z"), kThen);
  EXPECT_EQ(parse_utc("2023-11-14T22:13:20.123456789Z"), kThen + 123'456'789);
  EXPECT_EQ(parse_utc("2023-11-14 22:13:20.5"), kThen + 500'000'000);
  EXPECT_EQ(parse_utc("@1700000000"), kThen);
  EXPECT_EQ(parse_utc("@1700000000.000000001"), kThen + 1);
  EXPECT_EQ(parse_utc("2024-02-29 00:00:00"), 1'709'164'800'000'000'000);
}

TEST(Times, ThatDoNotExistAreRefused) {
  for (const char* text :
       {"", "now", "2023-02-29 00:00:00", "2023-13-01 00:00:00", "2023-11-14 24:00:00",
        "2023-11-14 22:60:20", "2023-11-14 22:13:60", "2023-11-14 22:13", "2023-11-14 22:13:20.",
        "2023-11-14 22:13:20.1234567890", "2023-11-14 22:13:20 CET", "-023-11-14 22:13:20",
        "1969-12-31 23:59:59", "2300-01-01 00:00:00", "@", "@-1", "@99999999999", "@1.x"})
    EXPECT_FALSE(parse_utc(text)) << text;
}

}  // namespace
}  // namespace tempo::cli
