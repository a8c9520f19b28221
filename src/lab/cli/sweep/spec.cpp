#include "lab/cli/sweep/spec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/core.h>

namespace tempo::sweep {
namespace {

// Options that the sweep sets itself, or that apply to a single run.
constexpr std::array<std::string_view, 10> kReserved{
    "json", "threads", "shard", "trace", "diagram", "script", "html", "explore", "help", "out"};

// Removes the rounding errors of repeated addition, which would otherwise appear in the options of
// a cell.
double rounded(double number) { return std::stod(fmt::format("{:.12g}", number)); }

std::optional<Value> scalar(const TomlNode& node) {
  if (const auto* flag = std::get_if<bool>(&node.value)) return Value{*flag};
  if (const auto* whole = std::get_if<std::int64_t>(&node.value)) return Value{*whole};
  if (const auto* number = std::get_if<double>(&node.value)) return Value{*number};
  if (const auto* text = std::get_if<std::string>(&node.value)) return Value{*text};
  return std::nullopt;
}

std::optional<double> number_of(const TomlNode& node) {
  if (const auto* whole = std::get_if<std::int64_t>(&node.value))
    return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(&node.value))
    return std::isfinite(*number) ? std::optional(*number) : std::nullopt;
  return std::nullopt;
}

class Reader {
 public:
  Reader(std::vector<TomlMistake>& mistakes, const Commands& known)
      : mistakes_(mistakes), known_(known) {}

  Spec read(const TomlTable& table) {
    const TomlEntry* const command = find(table, "command");
    if (command != nullptr)
      read_command(*command);
    else
      mistake({1, 1}, "the key 'command' is missing; write for example command = \"sim election\"");
    for (const TomlEntry& entry : table) {
      if (entry.key == "options")
        read_table(entry, [&](const TomlEntry& option) { read_option(option); });
      else if (entry.key == "grid")
        read_table(entry, [&](const TomlEntry& axis) { read_axis(axis); });
      else if (entry.key != "command" && entry.key != "seeds")
        mistake(entry.at, fmt::format("unknown key '{}'; a sweep has command, seeds, [options] "
                                      "and [grid]",
                                      entry.key));
    }
    if (const TomlEntry* const seeds = find(table, "seeds")) read_seeds(*seeds);
    check_size();
    return spec_;
  }

 private:
  static const TomlEntry* find(const TomlTable& table, std::string_view key) {
    const auto found = std::ranges::find(table, key, &TomlEntry::key);
    return found == table.end() ? nullptr : &*found;
  }

  void mistake(const TomlPlace& at, std::string what) {
    mistakes_.push_back({at, std::move(what)});
  }

  void read_command(const TomlEntry& entry) {
    const auto* const text = std::get_if<std::string>(&entry.node.value);
    if (text == nullptr)
      return mistake(entry.node.at, "command must be a string, for example \"sim election\"");
    spec_.command = *text;
    options_ = known_(*text);
    if (!options_)
      mistake(entry.node.at,
              fmt::format("'{}' cannot be swept; use sim, check or analyze with a subcommand that "
                          "`tempo-lab sim --help` lists",
                          *text));
  }

  template <class Read>
  void read_table(const TomlEntry& entry, Read read) {
    const auto* const table = std::get_if<TomlTable>(&entry.node.value);
    if (table == nullptr)
      return mistake(entry.at, fmt::format("{0} must be a table; write [{0}] and its keys below it",
                                           entry.key));
    for (const TomlEntry& inner : *table) read(inner);
  }

  // Returns true if the command has the option and it has not been given before.
  bool admissible(const TomlEntry& entry) {
    if (std::ranges::find(kReserved, entry.key) != kReserved.end()) {
      mistake(entry.at, fmt::format("--{} is not allowed in a sweep; remove it", entry.key));
      return false;
    }
    const bool twice =
        std::ranges::find(spec_.options, entry.key, &Setting::option) != spec_.options.end() ||
        std::ranges::find(spec_.axes, entry.key, &Axis::option) != spec_.axes.end();
    if (twice) {
      mistake(entry.at, fmt::format("{} is given twice; put it into [options] or [grid], not both",
                                    entry.key));
      return false;
    }
    if (!options_) return true;
    if (known_option(entry.key) != nullptr) return true;
    mistake(entry.at,
            fmt::format("`tempo-lab {0}` has no option --{1}; `tempo-lab {0} --help` lists all",
                        spec_.command, entry.key));
    return false;
  }

  const KnownOption* known_option(const std::string& name) const {
    if (!options_) return nullptr;
    const auto found = std::ranges::find(*options_, name, &KnownOption::name);
    return found == options_->end() ? nullptr : &*found;
  }

  // Only a flag takes true or false.
  bool fits(const TomlEntry& entry, const TomlPlace& at, const Value& value) {
    const KnownOption* const option = known_option(entry.key);
    if (option == nullptr || option->flag == std::holds_alternative<bool>(value)) return true;
    mistake(at, option->flag ? fmt::format("{} is a flag; write true or false", entry.key)
                             : fmt::format("{} takes a value, not true or false", entry.key));
    return false;
  }

  void read_option(const TomlEntry& entry) {
    if (!admissible(entry)) return;
    const std::optional<Value> value = scalar(entry.node);
    if (!value)
      return mistake(
          entry.node.at,
          fmt::format("{} must have a single value here; put lists and ranges into [grid]",
                      entry.key));
    if (fits(entry, entry.node.at, *value)) spec_.options.push_back({entry.key, *value});
  }

  void read_axis(const TomlEntry& entry) {
    if (!admissible(entry)) return;
    Axis axis{.option = entry.key, .values = values_of(entry)};
    if (axis.values.empty()) return;  // values_of has reported why
    if (std::ranges::all_of(axis.values,
                            [&](const Value& value) { return fits(entry, entry.node.at, value); }))
      spec_.axes.push_back(std::move(axis));
  }

  void read_seeds(const TomlEntry& entry) {
    TomlEntry axis = entry;
    axis.key = "seed";
    if (const auto* count = std::get_if<std::int64_t>(&entry.node.value)) {
      if (*count < 1)
        return mistake(entry.node.at, "seeds must be a count of at least 1, a list or a range");
      axis.node.value = TomlTable{{entry.at, "from", {entry.node.at, std::int64_t{1}}},
                                  {entry.at, "to", {entry.node.at, *count}}};
    }
    read_axis(axis);
  }

  // Empty: a mistake has been reported.
  std::vector<Value> values_of(const TomlEntry& entry) {
    if (const auto* range = std::get_if<TomlTable>(&entry.node.value))
      return values_in(entry, *range);
    const auto* const list = std::get_if<TomlArray>(&entry.node.value);
    if (list == nullptr || list->empty()) {
      mistake(
          entry.node.at,
          fmt::format(
              "{0} must be a list, for example [1, 2], or a range {{ from = 1, to = 9, step = 2 }}",
              entry.key));
      return {};
    }
    std::vector<Value> values;
    for (const TomlNode& node : *list) {
      const std::optional<Value> value = scalar(node);
      if (!value) {
        mistake(node.at,
                fmt::format("{} must contain only numbers, strings or booleans", entry.key));
        return {};
      }
      if (std::ranges::find(values, *value) != values.end()) {
        mistake(node.at, fmt::format("{} occurs twice in {}", text_of(*value), entry.key));
        return {};
      }
      values.push_back(*value);
    }
    return values;
  }

  struct Range {
    double from = 0;
    double to = 0;
    double step = 1;
    double factor = 0;  // 0: uses `step`
    bool whole = true;  // all values are integers
  };

  std::optional<Range> range_of(const TomlEntry& entry, const TomlTable& table) {
    Range range;
    bool from = false;
    bool to = false;
    for (const TomlEntry& part : table) {
      const std::optional<double> number = number_of(part.node);
      if (!number) {
        mistake(part.node.at, fmt::format("{} of a range must be a finite number", part.key));
        return std::nullopt;
      }
      range.whole &= std::holds_alternative<std::int64_t>(part.node.value);
      if (part.key == "from")
        range.from = *number, from = true;
      else if (part.key == "to")
        range.to = *number, to = true;
      else if (part.key == "step")
        range.step = *number;
      else if (part.key == "factor")
        range.factor = *number;
      else
        mistake(part.at,
                fmt::format("unknown key '{}' in a range; it has from, to and step or factor",
                            part.key));
    }
    const bool by_factor = find(table, "factor") != nullptr;
    if (!from || !to || range.to < range.from || (by_factor && find(table, "step") != nullptr)) {
      mistake(
          entry.node.at,
          fmt::format("{} is not a range; it needs from, to (not below from), and step or factor",
                      entry.key));
      return std::nullopt;
    }
    if (by_factor ? range.factor <= 1 || range.from <= 0 : range.step <= 0) {
      mistake(entry.node.at,
              fmt::format("{}: step must be above 0; factor must be above 1, with from above 0",
                          entry.key));
      return std::nullopt;
    }
    return range;
  }

  std::vector<Value> values_in(const TomlEntry& entry, const TomlTable& table) {
    const std::optional<Range> range = range_of(entry, table);
    if (!range) return {};
    std::vector<Value> values;
    // Include a last value that misses the end only by rounding.
    const double end = range->to + std::abs(range->to) * 1e-9;
    for (std::size_t i = 0;; ++i) {  // terminates: the values increase
      const auto steps = static_cast<double>(i);
      const double next = range->factor > 0 ? range->from * std::pow(range->factor, steps)
                                            : range->from + range->step * steps;
      if (next > end) break;
      if (values.size() == kMaxValues) {
        mistake(entry.node.at,
                fmt::format("{} has more than {} values; use larger steps", entry.key, kMaxValues));
        return {};
      }
      if (range->whole)
        values.emplace_back(static_cast<std::int64_t>(std::llround(next)));
      else
        values.emplace_back(rounded(next));
    }
    return values;
  }

  void check_size() {
    if (spec_.axes.size() > kMaxAxes)
      mistake({1, 1}, fmt::format("the grid has too many options; the maximum is {}", kMaxAxes));
    double cells = 1;
    for (const Axis& axis : spec_.axes) cells *= static_cast<double>(axis.values.size());
    if (cells > static_cast<double>(kMaxCells))
      mistake({1, 1},
              fmt::format("the grid has {:.3g} cells; the maximum is {}", cells, kMaxCells));
  }

  std::vector<TomlMistake>& mistakes_;
  const Commands& known_;
  std::optional<std::vector<KnownOption>> options_;
  Spec spec_;
};

}  // namespace

void put(Json& json, const std::string& key, const Value& value) {
  std::visit(
      [&](const auto& plain) {
        if constexpr (std::is_same_v<std::decay_t<decltype(plain)>, std::string>)
          json.add(key, std::string_view{plain});
        else
          json.add(key, plain);
      },
      value);
}

std::string text_of(const Value& value) {
  return std::visit(
      [](const auto& plain) {
        if constexpr (std::is_same_v<std::decay_t<decltype(plain)>, std::string>)
          return plain;
        else
          return fmt::format("{}", plain);
      },
      value);
}

std::uint64_t Spec::cells() const {
  std::uint64_t count = 1;
  for (const Axis& axis : axes) count *= axis.values.size();
  return count;
}

std::vector<Setting> Spec::at(std::uint64_t cell) const {
  std::vector<Setting> settings;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const std::vector<Value>& values = axes[i].values;
    settings.push_back({axes[i].option, values[cell % values.size()]});
    cell /= values.size();
  }
  std::ranges::reverse(settings);
  return settings;
}

std::vector<std::string> Spec::arguments(std::uint64_t cell) const {
  std::vector<std::string> arguments;
  for (std::size_t from = 0; from < command.size();) {
    const std::size_t space = std::min(command.find(' ', from), command.size());
    if (space > from) arguments.push_back(command.substr(from, space - from));
    from = space + 1;
  }
  std::vector<Setting> all = options;
  for (Setting& setting : at(cell)) all.push_back(std::move(setting));
  for (const Setting& setting : all) {
    const auto* const flag = std::get_if<bool>(&setting.value);
    if (flag == nullptr)
      arguments.push_back(fmt::format("--{}={}", setting.option, text_of(setting.value)));
    else if (*flag)
      arguments.push_back(fmt::format("--{}", setting.option));
  }
  return arguments;
}

Json Spec::description() const {
  Json fixed = Json::object();
  for (const Setting& setting : options) put(fixed, setting.option, setting.value);
  Json grid = Json::object();
  for (const Axis& axis : axes) {
    Json values = Json::array();
    for (const Value& value : axis.values) {
      Json holder = Json::object();
      put(holder, "value", value);
      values.push(*holder.at("value"));
    }
    grid.add(axis.option, values);
  }
  return Json::object()
      .add("sweep", command)
      .add("options", fixed)
      .add("grid", grid)
      .add("cells", cells());
}

std::expected<Spec, std::vector<TomlMistake>> read_spec(std::string text, const Commands& known) {
  std::vector<TomlMistake> mistakes;
  Spec spec;
  if (text.size() > kMaxTomlBytes) {
    mistakes.push_back({{1, 1}, "is too large for a sweep; is it the right file?"});
  } else {
    TomlFile file = read_toml(std::move(text));
    mistakes = std::move(file.mistakes);
    if (mistakes.empty() || !file.table.empty()) spec = Reader(mistakes, known).read(file.table);
  }
  if (mistakes.empty()) return spec;
  std::ranges::stable_sort(mistakes, {}, [](const TomlMistake& mistake) {
    return std::pair{mistake.at.line, mistake.at.column};
  });
  return std::unexpected(std::move(mistakes));
}

}  // namespace tempo::sweep
