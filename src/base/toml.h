// TOML parser: returns the values of a file with their positions, and all its syntax errors.
//
// Tables keep the order of the file. Dates and times are not supported: they are returned as `Odd`
// with a description. No function throws.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace tempo {

inline constexpr std::size_t kMaxTomlBytes = 1U << 20;  // largest file, in bytes

// A position in a file, counted from 1.
struct TomlPlace {
  std::uint32_t line = 1;
  std::uint32_t column = 1;  // in characters

  bool operator==(const TomlPlace&) const = default;
};

struct TomlNode;
struct TomlEntry;
using TomlArray = std::vector<TomlNode>;
using TomlTable = std::vector<TomlEntry>;
// A value of a type that tempo does not use.
struct Odd {
  std::string what;  // description of the type, for error messages
};

struct TomlNode {
  TomlPlace at;
  std::variant<bool, std::int64_t, double, std::string, TomlArray, TomlTable, Odd> value;
};

struct TomlEntry {
  TomlPlace at;  // position of the key
  std::string key;
  TomlNode node;
};

struct TomlMistake {
  TomlPlace at;
  std::string what;
};

struct TomlFile {
  TomlTable table;                    // empty if a table header is invalid
  std::vector<TomlMistake> mistakes;  // syntax errors, at most twenty
};

// Parses a file. Skips lines with syntax errors, so that one call reports all of them.
TomlFile read_toml(std::string text);

// Parses a single value, the text after `key =`.
Result<TomlNode> read_toml_value(std::string_view text);

}  // namespace tempo
