#include "lab/report/plot.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::report {
namespace {

using ::testing::HasSubstr;

TEST(Plot, DrawsARisingLineFromCornerToCorner) {
  const PlotOptions look{
      .x_name = "seconds", .y_name = "us", .width = 22, .height = 3, .unicode = false};
  EXPECT_EQ(plot_text({{.name = "a", .values = {0, 1, 2}}}, look),
            "       2 |         *\n"
            "       1 |     *\n"
            "       0 | *\n"
            "      us 0          2\n"
            "              seconds\n");
}

TEST(Plot, LeavesGapsForMissingNumbers) {
  const PlotOptions look{.width = 22, .height = 2, .unicode = false};
  const std::string text = plot_text({{.values = {1, std::nan(""), 1, 0}}}, look);
  EXPECT_EQ(std::count(text.begin(), text.end(), '*'), 3);
}

TEST(Plot, UsesEightBrailleDotsPerCell) {
  const PlotOptions look{.width = 22, .height = 2};
  EXPECT_THAT(plot_text({{.values = {0, 1}}}, look), HasSubstr("│"));
  EXPECT_EQ(plot_text({}, look).find("⠁"), std::string::npos);
}

TEST(Plot, EscapesTextInAPage) {
  const std::string page = plot_html({{.name = "<b>", .values = {0, 1, std::nan(""), 2}}},
                                     {.title = "a & b", .subtitle = "\"c\""}, {{"rms", "1 < 2"}});
  EXPECT_THAT(page, HasSubstr("<h1>a &amp; b</h1>"));
  EXPECT_THAT(page, HasSubstr("1 &lt; 2"));
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_THAT(page, HasSubstr("M1000.0 0.0\"")) << "a new path begins after a gap";
}

}  // namespace
}  // namespace tempo::report
