// Charts for a page: measurements with their intervals beside what was predicted.
//
// A chart is written as a table of its numbers, which anybody can read and copy; the script of the
// page (chart_page.h) draws it. Series of different length and place may share a chart.
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
  double low = kNoValue;  // of the interval; none if it is not a number
  double high = kNoValue;
};

enum class Mark : std::uint8_t {
  line,  // points joined
  dots,  // each by itself, with its interval
  bars,  // from the bottom
};

std::string_view name_of(Mark mark);

struct Series {
  std::string name{};
  Mark mark = Mark::line;
  std::vector<ChartPoint> points{};
  std::uint32_t colour = kOwnColour;  // the number of one; what belongs together has the same

  static constexpr std::uint32_t kOwnColour = ~std::uint32_t{0};
};

struct Chart {
  std::string id{};  // letters, digits and hyphens; once on a page
  std::string title{};
  std::string caption{};  // how it was made, and what is to be seen
  std::string x_name{};   // with its unit
  std::string y_name{};
  bool x_log = false;  // values that are not positive are then left out
  bool y_log = false;
  std::vector<Series> series{};
};

// A figure of class "chart" with the table.
std::string chart_figure(const Chart& chart);

// "chart,series,x,y,low,high", a line for each point; an empty field where there is no number.
std::string charts_csv(const std::vector<Chart>& charts);

// One field of a line of comma-separated values: in quotes where that is needed.
std::string csv_field(const std::string& text);
// A number with the digits that matter; empty if it is none.
std::string csv_number(double value);

}  // namespace tempo::report
