// The table of configuration keys: type, default, description and setter of each.
//
// It is independent of TOML: a value has one of five kinds. The readers of the file and of the
// command line look up the key here and call `set`, which checks and stores the value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/settings.h"

namespace tempo::config {

enum class Kind : std::uint8_t { flag, whole, number, text, list };
using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;

struct Key {
  KeyHelp help;  // keys of a table have its name: "timers.loop-ms"; `type` follows "must be"
  Kind kind;
  double min, max;                       // kinds `whole` and `number`; inclusive
  void (*put)(Settings&, const Value&);  // called with a value of the right kind and range
  std::optional<std::string> (*check)(
      const Value&);  // returns an error without the key; null: no check
};

const Key* find_key(std::string_view name);
// The known key or table that is closest to an unknown name; empty: none is close.
std::string closest_key(std::string_view name);
// The new name of a key that was renamed; empty: no key had this name.
std::string_view renamed_key(std::string_view name);
std::vector<std::string_view> table_names();  // names of all tables
// How many tables of this name a file may have, [[name]] each; empty: one, [name].
std::optional<std::size_t> max_of_tables(std::string_view name);
// The keys that are set next belong to another table of this name.
void begin_table(Settings& settings, std::string_view name);

// Checks and stores the value; returns an error message if it is not valid. A whole number is also
// accepted as a number.
std::optional<std::string> set(Settings& settings, const Key& key, Value value);

}  // namespace tempo::config
