#include "lab/report/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include <fmt/core.h>

#include "base/display_text.h"

namespace tempo::report {
namespace {

constexpr std::size_t kMaxPoints = 2000;  // of a curve on a page; of more only the extremes
constexpr std::size_t kLabel = 10;        // columns left of the plot

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  double part(double value) const { return (value - low) / (high - low); }
};

Range range_of(const std::vector<Curve>& curves) {
  Range range;
  for (const Curve& curve : curves)
    for (const double value : curve.values)
      if (std::isfinite(value)) {
        range.low = std::min(range.low, value);
        range.high = std::max(range.high, value);
      }
  if (range.low > range.high) return {.low = 0, .high = 1};
  if (range.low == range.high) return {.low = range.low - 1, .high = range.high + 1};
  return range;
}

std::size_t length_of(const std::vector<Curve>& curves) {
  std::size_t length = 0;
  for (const Curve& curve : curves) length = std::max(length, curve.values.size());
  return length;
}

// Dots in Braille cells of 2 by 4, or one dot per cell.
class Canvas {
 public:
  Canvas(std::size_t columns, std::size_t rows, bool unicode)
      : columns_(columns),
        unicode_(unicode),
        across_(unicode ? 2 : 1),
        down_(unicode ? 4 : 1),
        rows_(rows),
        cells_(columns * rows, 0) {}

  // x and y run from 0 to 1, to the right and upwards.
  void dot(double x, double y) {
    const auto place = [](double part, std::size_t size) {
      return std::min(size - 1,
                      static_cast<std::size_t>(std::max(0.0, part) * static_cast<double>(size)));
    };
    const std::size_t column = place(x, columns_ * across_);
    const std::size_t row = rows_ * down_ - 1 - place(y, rows_ * down_);
    constexpr std::array<std::array<std::uint8_t, 4>, 2> kDots{
        {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}};
    cells_[row / down_ * columns_ + column / across_] |= kDots.at(column % across_).at(row % down_);
  }

  std::string row(std::size_t number) const {
    std::string line;
    for (std::size_t i = 0; i < columns_; ++i) {
      const std::uint8_t dots = cells_[number * columns_ + i];
      if (!unicode_) {
        line += dots != 0 ? '*' : ' ';
      } else if (dots == 0) {
        line += ' ';
      } else {
        // U+2800 and the dots, as UTF-8.
        line += '\xe2';
        line += static_cast<char>(0xa0 + dots / 64);
        line += static_cast<char>(0x80 + dots % 64);
      }
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  }

 private:
  std::size_t columns_;
  bool unicode_;
  std::size_t across_;
  std::size_t down_;
  std::size_t rows_;
  std::vector<std::uint8_t> cells_;
};

// The SVG path of one curve, with gaps where there are no values.
std::string path_of(const Curve& curve, const Range& range, std::size_t length, double width,
                    double height) {
  std::string path;
  bool pen = false;
  const std::size_t stride = std::max<std::size_t>(1, 2 * curve.values.size() / kMaxPoints);
  const auto put = [&](std::size_t i) {
    fmt::format_to(
        std::back_inserter(path), "{}{:.1f} {:.1f}", pen ? 'L' : 'M',
        width * static_cast<double>(i) / static_cast<double>(std::max<std::size_t>(length - 1, 1)),
        height * (1 - range.part(curve.values[i])));
    pen = true;
  };
  for (std::size_t from = 0; from < curve.values.size(); from += stride) {
    const std::size_t end = std::min(from + stride, curve.values.size());
    std::size_t low = end;
    std::size_t high = end;
    for (std::size_t i = from; i < end; ++i) {
      if (!std::isfinite(curve.values[i])) continue;
      if (low == end || curve.values[i] < curve.values[low]) low = i;
      if (high == end || curve.values[i] > curve.values[high]) high = i;
    }
    if (low == end) {
      pen = false;
      continue;
    }
    put(std::min(low, high));
    if (low != high) put(std::max(low, high));
  }
  return path;
}

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --ink: #1d2733; --page: #ffffff; --faint: #dfe4ea; --muted: #66727f; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6ebf0; --page: #12161b; --faint: #2a323b; --muted: #94a1ae; } }
body { margin: 24px; background: var(--page); color: var(--ink);
  font: 14px/1.45 system-ui, "Liberation Sans", "DejaVu Sans", sans-serif; }
h1 { font-size: 21px; margin: 0; } p { margin: 4px 0 14px; color: var(--muted); }
svg { display: block; max-width: 100%; height: auto; font-size: 11px; }
svg text { fill: var(--muted); } .grid { stroke: var(--faint); }
.curve { fill: none; stroke-width: 1; }
table { border-collapse: collapse; margin-top: 18px; } td { padding: 3px 18px 3px 0; border-bottom: 1px solid var(--faint); }
td + td { text-align: right; font-variant-numeric: tabular-nums; }
.legend span { margin-right: 14px; }
)";
constexpr std::array kColours{"#2f6fd0", "#c4501b", "#12806f", "#8148b8",
                              "#c2386b", "#4a8a1d", "#b76e00", "#0f7fa3"};

}  // namespace

std::string plot_text(const std::vector<Curve>& curves, const PlotOptions& options) {
  const Range range = range_of(curves);
  const std::size_t length = length_of(curves);
  const std::size_t columns = std::max<std::size_t>(options.width, kLabel + 12) - kLabel - 1;
  const std::size_t rows = std::max<std::size_t>(options.height, 2);
  Canvas canvas(columns, rows, options.unicode);
  for (const Curve& curve : curves)
    for (std::size_t i = 0; i < curve.values.size(); ++i)
      if (std::isfinite(curve.values[i]))
        canvas.dot((static_cast<double>(i) + 0.5) / static_cast<double>(length),
                   range.part(curve.values[i]));
  std::string text;
  if (!options.title.empty()) text += options.title + '\n';
  for (std::size_t row = 0; row < rows; ++row) {
    const double value = range.high - (range.high - range.low) * static_cast<double>(row) /
                                          static_cast<double>(rows - 1);
    const bool named = row == 0 || row + 1 == rows || row == rows / 2;
    const std::string label = named ? fmt::format("{:.3g}", value) : std::string();
    text += fmt::format("{:>{}} {}{}\n", label, kLabel - 2, options.unicode ? "│" : "|",
                        canvas.row(row));
  }
  const std::string end = fmt::format(
      "{:g}", options.x_from + static_cast<double>(std::max<std::size_t>(length, 1) - 1));
  text += fmt::format("{:>{}} {:<{}}{}\n", options.y_name, kLabel - 2,
                      fmt::format("{:g}", options.x_from),
                      columns > end.size() ? columns - end.size() + 1 : 1, end);
  text += fmt::format("{:>{}}\n", options.x_name, kLabel + columns);
  return text;
}

std::string plot_html(const std::vector<Curve>& curves, const PlotOptions& options,
                      const std::vector<std::pair<std::string, std::string>>& table) {
  constexpr double kWidth = 1000;
  constexpr double kHeight = 380;
  const Range range = range_of(curves);
  const std::size_t length = length_of(curves);
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n<p>{2}</p>\n",
      escaped(options.title), kStyle, escaped(options.subtitle));
  page += fmt::format("<svg viewBox=\"-70 -10 {} {}\" role=\"img\">\n", kWidth + 90, kHeight + 50);
  for (int i = 0; i <= 4; ++i) {
    const double y = kHeight * i / 4;
    const double x = kWidth * i / 4;
    page += fmt::format(
        "<path class=\"grid\" d=\"M0 {0:.1f}H{1}\"/><text x=\"-8\" y=\"{2:.1f}\" "
        "text-anchor=\"end\">{3:.4g}</text>\n",
        y, kWidth, y + 4, range.high - (range.high - range.low) * i / 4);
    page += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:g}</text>\n", x,
                        kHeight + 18, options.x_from + static_cast<double>(length) * i / 4);
  }
  page += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", kWidth,
                      kHeight + 34, escaped(options.x_name));
  page += fmt::format("<text x=\"4\" y=\"10\">{}</text>\n", escaped(options.y_name));
  std::string legend;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const char* colour = kColours.at(i % kColours.size());
    page += fmt::format("<path class=\"curve\" stroke=\"{}\" d=\"{}\"><title>{}</title></path>\n",
                        colour, path_of(curves[i], range, length, kWidth, kHeight),
                        escaped(curves[i].name));
    legend += fmt::format("<span style=\"color:{}\">{}</span>", colour, escaped(curves[i].name));
  }
  page += fmt::format("</svg>\n<div class=\"legend\">{}</div>\n<table>\n", legend);
  for (const auto& [what, value] : table)
    page += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", escaped(what), escaped(value));
  return page + "</table>\n</body>\n</html>\n";
}

}  // namespace tempo::report
