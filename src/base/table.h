// A text table for the terminal: a header, a rule, rows; each column fits its widest cell.
//
//   Table table({"what", {"value", Align::right}});
//   table.row({"messages", "1,234"});
//   fmt::print("{}", table.text());
//
// Lines have no trailing spaces. Cells are single lines of UTF-8 text.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tempo::report {

enum class Align : std::uint8_t { left, right };

class Table {
 public:
  struct Column {
    Column(const char* column_name, Align column_align = Align::left)  // NOLINT: {"what", "value"}
        : name(column_name), align(column_align) {}
    Column(std::string column_name, Align column_align = Align::left)  // NOLINT
        : name(std::move(column_name)), align(column_align) {}

    std::string name;
    Align align;
  };
  struct Look {
    bool unicode = true;     // draw rules with box characters; false: with hyphens
    bool rules = true;       // draw a rule under the header and at each call of rule()
    std::size_t indent = 0;  // spaces before each line
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Appends a row. Missing cells at the end are empty; more cells than columns fail a CHECK.
  void row(std::vector<std::string> cells);
  // Draws a rule between the previous row and the next one.
  void rule();

  std::string text() const { return text(Look{}); }
  std::string text(const Look& look) const;

 private:
  std::vector<std::size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // each as long as columns_; an empty row is a rule
};

}  // namespace tempo::report
