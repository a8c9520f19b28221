// The table of settings: each key of the file with its type, default, meaning and place.
//
// It knows nothing of TOML: values come as one of five plain kinds. Whoever reads a file or a
// command line finds the key here and lets `set` check and store the value.
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
  KeyHelp help;  // keys of a table are written "timers.loop-ms"; `type` reads after "takes"
  Kind kind;
  double least, most;                                 // of whole and number
  void (*put)(Settings&, const Value&);               // the value has the right kind and range
  std::optional<std::string> (*wrong)(const Value&);  // a sentence's end if it still is not right
};

const Key* find_key(std::string_view name);
// The known key (or table) that the unknown one most resembles; empty if none does.
std::string nearest_key(std::string_view name);
std::vector<std::string_view> table_names();  // of the tables keys are in

// Checks the value and stores it; otherwise a sentence. A whole number is also a number.
std::optional<std::string> set(Settings& settings, const Key& key, Value value);

}  // namespace tempo::config
