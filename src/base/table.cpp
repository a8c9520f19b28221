#include "base/table.h"

#include <algorithm>

#include "base/check.h"
#include "base/display_text.h"

namespace tempo::report {
namespace {

constexpr std::size_t kGap = 2;  // spaces between columns

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

void Table::row(std::vector<std::string> cells) {
  CHECK(cells.size() <= columns_.size());
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

void Table::rule() { rows_.emplace_back(); }

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  widths.reserve(columns_.size());
  for (const Column& column : columns_) widths.push_back(display_width(column.name));
  for (const auto& cells : rows_)
    for (std::size_t i = 0; i < cells.size(); ++i)
      widths[i] = std::max(widths[i], display_width(cells[i]));
  return widths;
}

std::string Table::text(const Look& look) const {
  const std::vector<std::size_t> wide = widths();
  const auto line = [&](const auto& cell_at) {
    std::string all(look.indent, ' ');
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = cell_at(i);
      const std::string pad(wide[i] - display_width(cell), ' ');
      if (i > 0) all.append(kGap, ' ');
      all += columns_[i].align == Align::right ? pad + cell : cell + pad;
    }
    return without_trailing_spaces(std::move(all)) + '\n';
  };
  std::string rule(look.indent, ' ');
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) rule.append(kGap, ' ');
    for (std::size_t j = 0; j < wide[i]; ++j) rule += look.unicode ? "─" : "-";
  }
  rule = without_trailing_spaces(std::move(rule)) + '\n';

  std::string all = line([&](std::size_t i) -> const std::string& { return columns_[i].name; });
  if (look.rules) all += rule;
  for (const auto& cells : rows_) {
    if (!cells.empty())
      all += line([&](std::size_t i) -> const std::string& { return cells[i]; });
    else if (look.rules)
      all += rule;
  }
  return all;
}

}  // namespace tempo::report
