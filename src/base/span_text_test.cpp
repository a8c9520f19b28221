#include "base/span_text.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo {
namespace {

using ::testing::HasSubstr;

TEST(ParseSpan, ReadsEveryUnit) {
  EXPECT_EQ(parse_span("3ns"), 3ns);
  EXPECT_EQ(parse_span("100us"), 100us);
  EXPECT_EQ(parse_span("250ms"), 250ms);
  EXPECT_EQ(parse_span("7s"), 7s);
  EXPECT_EQ(parse_span("2min"), 2min);
  EXPECT_EQ(parse_span("24h"), 24h);
  EXPECT_EQ(parse_span("0"), 0ns);
  EXPECT_EQ(parse_span("5"), 5s);
  EXPECT_EQ(parse_span("0.25"), 250ms);
  EXPECT_EQ(parse_span("0ms"), 0ns);
}

TEST(ParseSpan, ReadsFractionsExactly) {
  EXPECT_EQ(parse_span("1.5s"), 1500ms);
  EXPECT_EQ(parse_span("0.001us"), 1ns);
  EXPECT_EQ(parse_span("1.000000001s"), 1s + 1ns);
  EXPECT_EQ(parse_span("0.5min"), 30s);
  EXPECT_EQ(parse_span("0.999999999h"), 1h - 3600ns);
  EXPECT_EQ(parse_span("1.50s"), 1500ms);
}

TEST(ParseSpan, RefusesInvalidText) {
  for (const std::string text :
       {"", "s", ".5", "5.", "-5", "-5ms", "-0s", "+5ms", "5 ms", " 5ms", "5ms ", "5m", "5MS", "1.s", ".5s",
        "1.5.5s", "1e3s", "0x5s", "five", "99999999999999999999s"}) {
    const auto span = parse_span(text);
    ASSERT_FALSE(span.has_value()) << text;
    EXPECT_THAT(span.error(), HasSubstr("'" + text + "' is not a duration")) << text;
  }
}

TEST(ParseSpan, RefusesTooFineOrTooLongDurations) {
  EXPECT_THAT(parse_span("1.5ns").error(), HasSubstr("finer than a nanosecond"));
  EXPECT_THAT(parse_span("0.0001us").error(), HasSubstr("finer than a nanosecond"));
  EXPECT_THAT(parse_span("90000h").error(), HasSubstr("longer than ten years"));
  EXPECT_THAT(parse_span("9223372036854775807s").error(), HasSubstr("longer than ten years"));
}

TEST(SpanText, WritesShortExactText) {
  EXPECT_EQ(span_text(0ns), "0s");
  EXPECT_EQ(span_text(250ms), "250ms");
  EXPECT_EQ(span_text(1500ms), "1.5s");
  EXPECT_EQ(span_text(1500us), "1.5ms");
  EXPECT_EQ(span_text(90s), "90s");
  EXPECT_EQ(span_text(1ns), "1ns");
}

}  // namespace
}  // namespace tempo
