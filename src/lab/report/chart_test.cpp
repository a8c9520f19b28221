#include "lab/report/chart.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Chart two_series() {
  return {
      .id = "cost",
      .title = "What <it> costs",
      .caption = "counted & drawn",
      .x_name = "N",
      .y_name = "messages",
      .y_log = true,
      .series = {{.name = "law", .points = {{2, 5}, {3, 8}}},
                 {.name = "seen", .mark = Mark::dots, .points = {{2, 5, 4.5, 5.5}}, .colour = 0}}};
}

TEST(Chart, IsAReadableTable) {
  const std::string html = chart_figure(two_series());
  EXPECT_THAT(html, HasSubstr(R"(<figure class="chart" id="chart-cost" data-x="N" )"
                              R"(data-y="messages" data-y-log>)"));
  EXPECT_THAT(html, HasSubstr("What &lt;it&gt; costs"));
  EXPECT_THAT(html, HasSubstr("counted &amp; drawn"));
  EXPECT_THAT(html, HasSubstr(R"(<tbody data-series="law" data-mark="line" data-colour="0">)"));
  EXPECT_THAT(html, HasSubstr("<tr><td>law</td><td>3</td><td>8</td></tr>"));
  EXPECT_THAT(html, HasSubstr(R"(<tbody data-series="seen" data-mark="dots" data-colour="0">)"));
  EXPECT_THAT(html, HasSubstr("<td>5</td><td>4.5</td><td>5.5</td></tr>"));
  EXPECT_THAT(html, Not(HasSubstr("data-x-log")));
}

TEST(Chart, GivesEachSeriesItsOwnColourByDefault) {
  Chart chart = two_series();
  chart.series[1].colour = Series::kOwnColour;
  EXPECT_THAT(chart_figure(chart), HasSubstr(R"(data-mark="dots" data-colour="1")"));
}

TEST(Chart, WritesCommaSeparatedValues) {
  Chart chart = two_series();
  chart.series[1].name = "seen, \"twice\"";
  EXPECT_EQ(charts_csv({chart}),
            "chart,series,x,y,low,high\n"
            "cost,law,2,5,,\n"
            "cost,law,3,8,,\n"
            "cost,\"seen, \"\"twice\"\"\",2,5,4.5,5.5\n");
}

TEST(Chart, WritesMissingNumbersAsEmptyFields) {
  EXPECT_EQ(csv_number(kNoValue), "");
  EXPECT_EQ(csv_number(0.1), "0.1");
  EXPECT_EQ(csv_number(1.0 / 3), "0.333333333");
  EXPECT_EQ(csv_field("a\nb"), "\"a\nb\"");
  EXPECT_EQ(csv_field("plain"), "plain");
}

}  // namespace
}  // namespace tempo::report
