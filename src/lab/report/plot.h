// Curves over time: as text for a terminal, and as a page of its own.
//
// All curves share both axes. Values that are not numbers leave a gap.
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
  std::string subtitle{};  // how it was made
  std::string x_name{};    // with its unit
  std::string y_name{};
  double x_from = 0;       // of the first value
  std::size_t width = 80;  // of text, in columns
  std::size_t height = 12;
  bool unicode = true;  // dots of Braille rather than asterisks
};

// The lines of the plot, the last with a newline.
std::string plot_text(const std::vector<Curve>& curves, const PlotOptions& options);

// A page that needs nothing else, with a table of what was measured below the picture.
std::string plot_html(const std::vector<Curve>& curves, const PlotOptions& options,
                      const std::vector<std::pair<std::string, std::string>>& table);

}  // namespace tempo::report
