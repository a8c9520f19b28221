// Curves over time, as text for a terminal and as a complete HTML page.
//
// All curves share both axes. Values that are not finite leave a gap.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace tempo::report {

struct Curve {
  std::string name{};
  std::vector<double> values{};  // at 0, 1, 2, … of the x axis
};

struct PlotOptions {
  std::string title{};
  std::string subtitle{};  // how the plot was made
  std::string x_name{};    // with its unit
  std::string y_name{};
  double x_from = 0;       // x of the first value
  std::size_t width = 80;  // of the text, in columns
  std::size_t height = 12;
  bool unicode = true;  // use Braille dots instead of asterisks
};

// The lines of the plot; the last one ends with a newline.
std::string plot_text(const std::vector<Curve>& curves, const PlotOptions& options);

// A self-contained page, with a table of the measurements below the plot.
std::string plot_html(const std::vector<Curve>& curves, const PlotOptions& options,
                      const std::vector<std::pair<std::string, std::string>>& table);

}  // namespace tempo::report
