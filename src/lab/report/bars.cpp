#include "lab/report/bars.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/display_text.h"

namespace tempo::report {
namespace {

constexpr std::size_t kLongestBar = 60;
constexpr std::size_t kShortestBar = 10;

// Uses eighths of a column if the terminal supports Unicode.
std::string bar(double columns, bool unicode) {
  static constexpr std::array<std::string_view, 8> kParts{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (!unicode) return std::string(static_cast<std::size_t>(std::lround(columns)), '#');
  const auto eighths = static_cast<std::size_t>(std::lround(columns * 8));
  std::string text;
  for (std::size_t i = 0; i < eighths / 8; ++i) text += "█";
  return text.append(kParts[eighths % 8]);
}

}  // namespace

std::string bars(const std::vector<Bar>& rows, std::size_t width, bool unicode) {
  std::size_t labels = 0;
  std::size_t values = 0;
  double most = 0;
  for (const Bar& row : rows) {
    labels = std::max(labels, display_width(row.label));
    values = std::max(values, display_width(row.value));
    most = std::max(most, row.share);
  }
  const std::size_t taken = labels + values + 4;
  const std::size_t longest =
      std::clamp(width > taken ? width - taken : 0, kShortestBar, kLongestBar);
  std::string text;
  for (const Bar& row : rows) {
    const double columns = most > 0 ? row.share / most * static_cast<double>(longest) : 0;
    std::string line = std::string(labels - display_width(row.label), ' ') + row.label + "  " +
                       row.value + std::string(values - display_width(row.value), ' ') + "  " +
                       bar(columns, unicode);
    while (!line.empty() && line.back() == ' ') line.pop_back();
    text += line + '\n';
  }
  return text;
}

}  // namespace tempo::report
