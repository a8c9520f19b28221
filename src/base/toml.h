// TOML: a file as values, each with its place, or every mistake in its grammar.
//
// Tables keep the order of the file. Dates and times are read as what they are not: `Odd`, with a
// word for it. Nothing here throws.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace tempo {

inline constexpr std::size_t kMaxTomlBytes = 1U << 20;  // of a file

struct TomlPlace {
  std::uint32_t line = 1;
  std::uint32_t column = 1;

  bool operator==(const TomlPlace&) const = default;
};

struct TomlNode;
struct TomlEntry;
using TomlArray = std::vector<TomlNode>;
using TomlTable = std::vector<TomlEntry>;
struct Odd {
  std::string what;
};

struct TomlNode {
  TomlPlace at;
  std::variant<bool, std::int64_t, double, std::string, TomlArray, TomlTable, Odd> value;
};

struct TomlEntry {
  TomlPlace at;  // of the key
  std::string key;
  TomlNode node;
};

struct TomlMistake {
  TomlPlace at;
  std::string what;
};

struct TomlFile {
  TomlTable table;                    // empty if a table's header is broken
  std::vector<TomlMistake> mistakes;  // of grammar; at most twenty
};

// Lines with mistakes are left out, so that all of them are told.
TomlFile read_toml(std::string text);

// The text of a value alone, as behind `key =`.
Result<TomlNode> read_toml_value(std::string_view text);

}  // namespace tempo
