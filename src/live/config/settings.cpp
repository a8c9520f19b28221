// Reads TOML, the only file that does: values with their places go to the table in keys.cpp.
#include "live/config/settings.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/core.h>

#include "live/config/keys.h"

// The parser asserts what a file can break (`[?]` is one): its assertions are mistakes of the file.
namespace tempo::config {
struct ParserLost {};
[[noreturn]] inline void parser_lost() { throw ParserLost{}; }
}  // namespace tempo::config
#undef NDEBUG
#define TOML_ASSERT(expression) ((expression) ? static_cast<void>(0) : tempo::config::parser_lost())
#define TOML_EXCEPTIONS 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#include <toml++/toml.h>

namespace tempo::config {
namespace {

using Mistakes = std::vector<Mistake>;

constexpr std::size_t kMostFile = 1U << 20;  // bytes
constexpr std::size_t kMostSyntaxMistakes = 20;

// What was said for one key, the last word of all who spoke.
struct Said {
  std::string where;
  Value value;
};
using AllSaid = std::map<std::string, Said>;  // by key

std::string place(std::string_view file, const toml::source_position& at) {
  return fmt::format("{}:{}:{}", file, at.line, at.column);
}

// Where the first letter is that is not ASCII and stands outside quotes and comments, or behind a
// backslash. There the parser would meet a case it calls unreachable.
std::optional<toml::source_position> stray_letter(std::string_view text) {
  const auto foreign = [&](std::size_t i) {
    return i < text.size() && static_cast<unsigned char>(text[i]) >= 0x80;
  };
  toml::source_position at{1, 0};
  bool comment = false;
  std::string quote;  // what ends the string we are in
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    ++at.column;
    if (c == '\n') {
      at = {at.line + 1, 0};
      comment = false;
      if (quote.size() == 1) quote.clear();
    } else if (!quote.empty()) {
      const bool escapes = c == '\\' && quote[0] == '"';
      if (escapes && foreign(i + 1)) return at;
      if (escapes && i + 1 < text.size() && text[i + 1] != '\n') {
        ++i;
        ++at.column;
      } else if (text.substr(i).starts_with(quote) &&
                 !(quote.size() == 3 && text.substr(i + 1).starts_with(quote))) {
        i += quote.size() - 1;
        at.column += static_cast<toml::source_index>(quote.size() - 1);
        quote.clear();
      }
    } else if (!comment) {
      if (foreign(i)) return at;
      comment = c == '#';
      if (c == '"' || c == '\'') {
        quote =
            text.substr(i).starts_with(std::string(3, c)) ? std::string(3, c) : std::string(1, c);
        i += quote.size() - 1;
        at.column += static_cast<toml::source_index>(quote.size() - 1);
      }
    }
  }
  return std::nullopt;
}

// Where the first line begins that looks like a table's header and has no name in it.
toml::source_position odd_header(std::string_view text) {
  constexpr std::string_view kName =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_\"'";
  toml::source_position at{1, 1};
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::size_t bracket = line.find_first_not_of(" \t\r");
    if (bracket != std::string_view::npos && line[bracket] == '[') {
      const std::size_t name = line.find_first_not_of("[ \t", bracket);
      if (name == std::string_view::npos || kName.find(line[name]) == std::string_view::npos) {
        at.column = static_cast<toml::source_index>(bracket + 1);
        return at;
      }
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    ++at.line;
  }
  return {1, 1};
}

// The file's table, or the first mistake in its grammar.
struct BadGrammar {
  toml::source_position at;
  std::string what;
};
Result<toml::table, BadGrammar> parse_toml(std::string_view text) {
  if (const auto at = stray_letter(text))
    return std::unexpected(BadGrammar{*at, "outside quotes and comments, letters are ASCII"});
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& mistake) {
    return std::unexpected(BadGrammar{mistake.source().begin, std::string(mistake.description())});
  } catch (const ParserLost&) {
    return std::unexpected(BadGrammar{odd_header(text), "a table's header is [ and a name and ]"});
  }
}

// The value as one of our kinds, or what it is instead.
Result<Value> value_of(const toml::node& node) {
  if (const auto* flag = node.as_boolean()) return Value{flag->get()};
  if (const auto* whole = node.as_integer()) return Value{whole->get()};
  if (const auto* number = node.as_floating_point()) return Value{number->get()};
  if (const auto* text = node.as_string()) return Value{text->get()};
  if (const auto* array = node.as_array()) {
    std::vector<std::string> texts;
    for (const toml::node& element : *array) {
      const auto* text = element.as_string();
      if (text == nullptr) return std::unexpected("a list with something else than texts in it");
      texts.push_back(text->get());
    }
    return Value{std::move(texts)};
  }
  return std::unexpected(std::string(node.is_table() ? "a table" : "a date or time"));
}

std::string unknown_key(const std::string& key) {
  const std::string nearest = nearest_key(key);
  if (nearest.empty()) return fmt::format("there is no key '{}'; tempo.toml(5) lists all", key);
  const std::size_t dot = nearest.find('.');
  if (dot != std::string::npos && key.find('.') == std::string::npos)
    return fmt::format("there is no key '{}' here; '{}' belongs into the table [{}]", key,
                       nearest.substr(dot + 1), nearest.substr(0, dot));
  return fmt::format("there is no key '{}'; is '{}' meant?", key, nearest);
}

std::string unlike(const Key& key, std::string_view what) {
  return fmt::format("{} takes {}, not {}", key.help.key, key.help.type, what);
}

// --- a file ---

class FileReader {
 public:
  FileReader(std::string_view file_name, AllSaid& said, Mistakes& mistakes)
      : file_name_(file_name), said_(said), mistakes_(mistakes) {}

  void read(std::string text) {
    // The parser stops at the first mistake of grammar. Its line is blanked and the rest read
    // again, so that all of them are told; a broken table header would make the keys below it look
    // misplaced, so they are left for the next time.
    std::set<std::uint32_t> blanked;
    bool readable = true;
    for (std::size_t tries = 0; tries < kMostSyntaxMistakes; ++tries) {
      const auto parsed = parse_toml(text);
      if (parsed) {
        if (readable) walk(*parsed, "");
        return;
      }
      const toml::source_position at = parsed.error().at;
      if (!blanked.insert(at.line).second) return;
      mistakes_.push_back({place(file_name_, at), parsed.error().what});
      readable = blank(text, at.line) && readable;
    }
  }

 private:
  // Says whether the line held no table header.
  static bool blank(std::string& text, std::uint32_t line) {
    std::size_t from = 0;
    for (std::uint32_t i = 1; i < line; ++i) {
      const std::size_t end = text.find('\n', from);
      if (end == std::string::npos) return false;
      from = end + 1;
    }
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::size_t first = text.find_first_not_of(" \t", from);
    const bool header = first < end && text[first] == '[';
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(from),
              text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    return !header;
  }

  void walk(const toml::table& table, const std::string& prefix) {
    for (const auto& [toml_key, node] : table) {
      const std::string key = prefix + std::string(toml_key.str());
      const std::string where = place(file_name_, toml_key.source().begin);
      if (const Key* known = find_key(key)) {
        auto value = value_of(node);
        if (value)
          said_.insert_or_assign(key, Said{place(file_name_, node.source().begin), *value});
        else
          mistakes_.push_back(
              {place(file_name_, node.source().begin), unlike(*known, value.error())});
      } else if (std::ranges::count(table_names(), key) > 0) {
        if (const auto* inner = node.as_table())
          walk(*inner, key + '.');
        else
          mistakes_.push_back(
              {where, fmt::format("{0} is a table; write [{0}] and its keys below", key)});
      } else {
        mistakes_.push_back({where, unknown_key(key)});
      }
    }
  }

  std::string_view file_name_;
  AllSaid& said_;
  Mistakes& mistakes_;
};

// --- the command line ---

Result<Value> toml_value(std::string_view text) {
  const auto parsed = parse_toml("value = " + std::string(text));
  if (!parsed || parsed->size() != 1) return std::unexpected(fmt::format("'{}'", text));
  return value_of(*parsed->get("value"));
}

// A bare word is a text, or a list with commas; everything else is as in the file.
Result<Value> word_value(const Key& key, const std::string& text) {
  if (key.kind == Kind::text && !text.starts_with('"') && !text.starts_with('\''))
    return Value{text};
  if (key.kind == Kind::list && !text.starts_with('[')) {
    std::vector<std::string> parts;
    std::istringstream in{text};
    for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
    return Value{std::move(parts)};
  }
  return toml_value(text);
}

void read_change(const std::string& change, AllSaid& said, Mistakes& mistakes) {
  const std::size_t equals = change.find('=');
  if (equals == std::string::npos) {
    mistakes.push_back({change, "write key=value, for example port=5250"});
    return;
  }
  const std::string name = change.substr(0, equals);
  const std::string where = "--" + name;
  const Key* key = find_key(name);
  if (key == nullptr) {
    mistakes.push_back({where, unknown_key(name)});
    return;
  }
  auto value = word_value(*key, change.substr(equals + 1));
  if (value)
    said.insert_or_assign(name, Said{where, *std::move(value)});
  else
    mistakes.push_back({where, unlike(*key, value.error())});
}

// --- from what was said to settings ---

// What a policy for two machines needs is said by the same file on each of them.
std::string wrong_with_policy(const Settings& settings) {
  const bool names_one =
      settings.lock_policy == LockPolicy::witness || settings.lock_policy == LockPolicy::preferred;
  if (names_one && settings.lock_policy_host.empty())
    return "this policy names a machine: say which in locks.policy-host";
  if (!names_one && !settings.lock_policy_host.empty())
    return "locks.policy-host goes with the policies witness and preferred; leave it out";
  if (settings.lock_policy == LockPolicy::witness && settings.lock_expect != 3)
    return "two machines and a witness are three that vote: locks.expect = 3";
  const bool of_two = settings.lock_policy == LockPolicy::preferred ||
                      settings.lock_policy == LockPolicy::available;
  if (of_two && settings.lock_expect != 2)
    return "this policy is for two machines: locks.expect = 2";
  return "";
}

void check_relations(const Settings& settings, const AllSaid& said, Mistakes& mistakes) {
  const auto has = [&](const char* key) { return said.contains(key); };
  if (!settings.broadcast.empty() && settings.bind.empty() && has("broadcast"))
    mistakes.push_back({said.at("broadcast").where,
                        "broadcast goes with bind: give the addresses to use there, or leave it "
                        "out, the interfaces' own is found by itself"});
  if (!settings.bind.empty() && !settings.interfaces.empty())
    mistakes.push_back({said.at("bind").where,
                        "bind takes the place of interfaces: give one of the two, not both"});
  if (settings.trusted && settings.clock != ClockKind::none)
    mistakes.push_back({said.at("trusted").where,
                        "trusted goes with clock = \"none\": the program that keeps this machine's "
                        "clock goes on keeping it"});
  if (has("locks.policy") || has("locks.policy-host"))
    if (const std::string wrong = wrong_with_policy(settings); !wrong.empty())
      mistakes.push_back(
          {said.at(has("locks.policy") ? "locks.policy" : "locks.policy-host").where, wrong});
}

std::expected<Settings, Mistakes> settle(const AllSaid& said, Mistakes mistakes) {
  Settings settings;
  bool timers_known = true;
  // The profile comes first: the timers change what it says.
  if (const auto found = said.find("profile"); found != said.end()) {
    if (const auto wrong = set(settings, *find_key("profile"), found->second.value)) {
      mistakes.push_back({found->second.where, *wrong});
      timers_known = false;
    }
  }
  if (const auto timing = election::profile(settings.profile)) settings.timing = *timing;

  std::string timers_at;
  for (const auto& [key, said_of_it] : said) {
    if (key == "profile") continue;
    const bool timer = key.starts_with("timers.");
    if (timer && timers_at.empty()) timers_at = said_of_it.where;
    if (const auto wrong = set(settings, *find_key(key), said_of_it.value)) {
      mistakes.push_back({said_of_it.where, *wrong});
      timers_known = timers_known && !timer;
    }
  }
  check_relations(settings, said, mistakes);
  if (timers_known && !timers_at.empty())
    for (const std::string& fault : election::faults_of({.timing = settings.timing}))
      mistakes.push_back({timers_at, fault});

  if (!mistakes.empty()) return std::unexpected(std::move(mistakes));
  return settings;
}

// By line and column, as a reader of the file meets them; what is not of the file comes last.
void sort_by_place(Mistakes& mistakes, std::string_view file_name) {
  const auto order = [&](const Mistake& mistake) {
    unsigned line = ~0U, column = 0;
    if (mistake.where.starts_with(file_name)) {
      const std::string rest = mistake.where.substr(file_name.size());
      if (std::sscanf(rest.c_str(), ":%u:%u", &line, &column) != 2) line = 0;
    }
    return std::pair{line, column};
  };
  std::ranges::stable_sort(mistakes, {}, order);
}

std::expected<Settings, Mistakes> settle_in_order(const AllSaid& said, Mistakes mistakes,
                                                  std::string_view file_name) {
  auto settings = settle(said, std::move(mistakes));
  if (!settings) sort_by_place(settings.error(), file_name);
  return settings;
}

}  // namespace

std::expected<Settings, std::vector<Mistake>> read_settings(std::string_view text,
                                                            std::string_view file_name) {
  AllSaid said;
  Mistakes mistakes;
  FileReader(file_name, said, mistakes).read(std::string(text));
  return settle_in_order(said, std::move(mistakes), file_name);
}

std::expected<Settings, std::vector<Mistake>> load_settings(
    const std::string& file, bool given, const std::vector<std::string>& changes) {
  AllSaid said;
  Mistakes mistakes;
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::string text;
  if (in) {
    char c = 0;
    while (text.size() <= kMostFile && in.get(c)) text += c;
  }
  const bool missing = !in.is_open() && errno == ENOENT;
  if (in.is_open() && !in.bad() && text.size() <= kMostFile) {
    FileReader(file, said, mistakes).read(std::move(text));
  } else if (text.size() > kMostFile) {
    mistakes.push_back({file, "is larger than a configuration can be; is it the right file?"});
  } else if (given || !missing) {
    mistakes.push_back(
        {file, fmt::format("cannot be read ({}); give the path of a file that can, or none: every "
                           "key has a default",
                           std::strerror(errno == 0 ? EIO : errno))});
  }
  for (const std::string& change : changes) read_change(change, said, mistakes);
  return settle_in_order(said, std::move(mistakes), file);
}

}  // namespace tempo::config
