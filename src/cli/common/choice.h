// An option that accepts the names of a table.
#pragma once

#include <functional>
#include <string>

#include <fmt/core.h>

#include "base/result.h"

namespace tempo::cli {

// The row of that name; `name` reads the name of a row.
template <class Table, class Name>
auto chosen(const char* option, const Table& table, const std::string& text, Name name)
    -> Result<typename Table::value_type> {
  std::string known;
  for (const auto& row : table) {
    if (std::invoke(name, row) == text) return row;
    known += (known.empty() ? "" : ", ") + std::string(std::invoke(name, row));
  }
  return std::unexpected(fmt::format("{} must be one of {}, not '{}'", option, known, text));
}

}  // namespace tempo::cli
