// The specification of a sweep: a command, fixed options, and a grid of varying options. A cell is
// one point of the grid; cells are numbered, and the last option varies fastest.
//
//     command = "sim election"
//     seeds = 3                                       # optional: a count, a list or a range
//     [options]
//     scenario = "churn"
//     runs = 100
//     [grid]
//     nodes = [5, 11, 21]
//     loss = { from = 0, to = 0.2, step = 0.05 }      # or factor = 2 instead of step
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/toml.h"

namespace tempo::sweep {

inline constexpr std::uint64_t kMaxCells = 1'000'000;
inline constexpr std::size_t kMaxAxes = 16;
inline constexpr std::size_t kMaxValues = 100'000;  // of one axis

using Value = std::variant<bool, std::int64_t, double, std::string>;
std::string text_of(const Value& value);
void put(Json& object, const std::string& key, const Value& value);

struct Setting {
  std::string option;  // without the leading dashes
  Value value;
};

struct Axis {
  std::string option;
  std::vector<Value> values;
};

struct Spec {
  std::string command;
  std::vector<Setting> options;
  std::vector<Axis> axes;

  std::uint64_t cells() const;
  // The varying options of a cell.
  std::vector<Setting> at(std::uint64_t cell) const;
  // The command line of a cell, without the name of the program.
  std::vector<std::string> arguments(std::uint64_t cell) const;
  // The whole specification as one object; two sweeps are the same if these are equal.
  Json description() const;
};

// An option that a command accepts.
struct KnownOption {
  std::string name;
  bool flag = false;  // takes no value
};
// The options of a command; empty: there is no such command, or it cannot be swept.
using Commands = std::function<std::optional<std::vector<KnownOption>>(const std::string& command)>;

// The sweep, or all mistakes in the text, sorted by position.
std::expected<Spec, std::vector<TomlMistake>> read_spec(std::string text, const Commands& known);

}  // namespace tempo::sweep
