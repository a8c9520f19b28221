#include "base/display_text.h"

#include <gtest/gtest.h>

namespace tempo::report {
namespace {

TEST(DisplayText, WidthCountsTerminalColumns) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("master"), 6U);
  EXPECT_EQ(display_width("──▶│"), 4U);
  EXPECT_EQ(display_width("é"), 1U);         // one code point
  EXPECT_EQ(display_width("e\u0301"), 1U);   // letter plus combining accent
  EXPECT_EQ(display_width("時計"), 4U);      // two columns each
  EXPECT_EQ(display_width("\xff\xc3"), 2U);  // not UTF-8: one column per byte
}

TEST(DisplayText, ClippedTextFitsAndEndsWithTheMark) {
  EXPECT_EQ(clipped("candidate", 9), "candidate");
  EXPECT_EQ(clipped("candidate", 6), "candi…");
  EXPECT_EQ(clipped("candidate", 6, "~"), "candi~");
  EXPECT_EQ(clipped("時計台", 4), "時…");  // a wide character is never cut in half
  EXPECT_EQ(clipped("abc", 1), "…");
  EXPECT_EQ(clipped("abc", 0), "");
}

TEST(DisplayText, EscapesHtmlAndControlCharacters) {
  EXPECT_EQ(escaped("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(escaped(std::string_view("x\n\0y\x7f", 5)), "x  y ");
  EXPECT_EQ(escaped("→ é"), "→ é");
}

TEST(DisplayText, BriefSpansHaveThreeDigits) {
  EXPECT_EQ(brief_span(0ns), "0ns");
  EXPECT_EQ(brief_span(999ns), "999ns");
  EXPECT_EQ(brief_span(1500ns), "1.5us");
  EXPECT_EQ(brief_span(150us), "150us");
  EXPECT_EQ(brief_span(999'600ns), "1ms");
  EXPECT_EQ(brief_span(12'345us), "12.3ms");
  EXPECT_EQ(brief_span(2400ms), "2.4s");
  EXPECT_EQ(brief_span(3600s), "3600s");
  EXPECT_EQ(brief_span(-2ms), "-2ms");
}

TEST(DisplayText, GroupsTheDigitsOfLongNumbers) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1'234'567), "1,234,567");
}

}  // namespace
}  // namespace tempo::report
