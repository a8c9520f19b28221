// Charts for a page: measurements with their intervals, and predictions.
//
// A chart is written as a table of its numbers, which the reader can copy; the script of the page
// (chart_page.h) draws it. Series of a chart may differ in length and position.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace tempo::report {

inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

struct ChartPoint {
  double x = 0;
  double y = 0;
  double low = kNoValue;  // lower end of the interval; NaN: no interval
  double high = kNoValue;
};

enum class Mark : std::uint8_t {
  line,  // connected points
  dots,  // separate points with their intervals
  bars,  // bars from the bottom
};

std::string_view name_of(Mark mark);

struct Series {
  std::string name{};
  Mark mark = Mark::line;
  std::vector<ChartPoint> points{};
  std::uint32_t colour = kOwnColour;  // number of a colour; related series share one

  static constexpr std::uint32_t kOwnColour = ~std::uint32_t{0};
};

struct Chart {
  std::string id{};  // letters, digits and hyphens; unique on a page
  std::string title{};
  std::string caption{};  // how it was made, and what it shows
  std::string x_name{};   // with its unit
  std::string y_name{};
  bool x_log = false;  // logarithmic axis; values that are not positive are left out
  bool y_log = false;
  std::vector<Series> series{};
};

// A <figure class="chart"> that contains the table.
std::string chart_figure(const Chart& chart);

// "chart,series,x,y,low,high", one line for each point; missing numbers are empty fields.
std::string charts_csv(const std::vector<Chart>& charts);

// One field of a line of comma-separated values, quoted if necessary.
std::string csv_field(const std::string& text);
// A number with nine significant digits; empty if it is not finite.
std::string csv_number(double value);

}  // namespace tempo::report
