// Reads the file and the command line and applies the table in config_keys.cpp.
#include "api/settings.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include <fmt/core.h>

#include "api/config_keys.h"
#include "base/toml.h"

namespace tempo::config {
namespace {

using Mistakes = std::vector<Mistake>;

// The last value given for a key, and its place.
struct Given {
  std::string where;
  Value value;
};
// By key. Keys of several tables of one name have the number of their table: "utc.source[0].path".
using AllGiven = std::map<std::string, Given>;

// "utc.source[0].path" is the key "utc.source.path".
std::string without_number(const std::string& name) {
  const std::size_t open = name.find('[');
  if (open == std::string::npos) return name;
  return name.substr(0, open) + name.substr(name.find(']') + 1);
}

// The reverse; keys of other tables stay as they are.
std::string with_number(const std::string& key, std::size_t number) {
  const std::size_t dot = key.rfind('.');
  if (dot == std::string::npos || !max_of_tables(key.substr(0, dot))) return key;
  return fmt::format("{}[{}]{}", key.substr(0, dot), number, key.substr(dot));
}

std::string place(std::string_view file, const TomlPlace& at) {
  return fmt::format("{}:{}:{}", file, at.line, at.column);
}

// The value as one of our kinds, or a description of what it is instead.
Result<Value> value_of(const TomlNode& node) {
  if (const auto* flag = std::get_if<bool>(&node.value)) return Value{*flag};
  if (const auto* whole = std::get_if<std::int64_t>(&node.value)) return Value{*whole};
  if (const auto* number = std::get_if<double>(&node.value)) return Value{*number};
  if (const auto* text = std::get_if<std::string>(&node.value)) return Value{*text};
  if (const auto* odd = std::get_if<Odd>(&node.value)) return std::unexpected(odd->what);
  if (std::holds_alternative<TomlTable>(node.value)) return std::unexpected("a table");
  std::vector<std::string> texts;
  for (const TomlNode& element : std::get<TomlArray>(node.value)) {
    const auto* text = std::get_if<std::string>(&element.value);
    if (text == nullptr) return std::unexpected("a list with elements that are not strings");
    texts.push_back(*text);
  }
  return Value{std::move(texts)};
}

std::string unknown_key(const std::string& key) {
  if (const std::string_view renamed = renamed_key(key); !renamed.empty())
    return fmt::format("{} was renamed to '{}'", key, renamed);
  const std::string closest = closest_key(key);
  if (closest.empty()) return fmt::format("unknown key '{}'; tempo.toml(5) lists all keys", key);
  return fmt::format("unknown key '{}'; did you mean '{}'?", key, closest);
}

// The same for a file, where a key can also stand outside its table.
std::string unknown_key_in_file(const std::string& key) {
  const std::string closest = closest_key(key);
  const std::size_t dot = closest.find('.');
  if (renamed_key(key).empty() && dot != std::string::npos && key.find('.') == std::string::npos)
    return fmt::format("unknown key '{}' outside a table; did you mean '{}' in [{}]?", key,
                       closest.substr(dot + 1), closest.substr(0, dot));
  return unknown_key(key);
}

std::string wrong_type(const Key& key, std::string_view what) {
  return fmt::format("{} must be {}, not {}", key.help.key, key.help.type, what);
}

// --- unquoted values ---

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// The lines of a file up to number `count`.
std::vector<std::string_view> first_lines(std::string_view text, std::uint32_t count) {
  std::vector<std::string_view> lines;
  while (lines.size() < count && !text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(trimmed(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// `eth0, eth1` as `"eth0", "eth1"`.
std::string quoted_elements(std::string_view list) {
  std::string quoted;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (const std::string_view element = trimmed(list.substr(0, comma)); !element.empty())
      quoted += fmt::format("{}\"{}\"", quoted.empty() ? "" : ", ", element);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return quoted;
}

// A missing pair of quotes is the most common mistake of grammar, and the parser's description of
// it does not help: for `name = node1`, says to quote the value. Empty: the line has another
// mistake.
std::string unquoted_value(std::string_view text, std::uint32_t line_number) {
  const auto lines = first_lines(text, line_number);
  if (lines.size() < line_number) return {};
  std::string prefix;
  for (const std::string_view line : lines)
    if (line.starts_with('[') && line.ends_with(']'))
      prefix = fmt::format("{}.", trimmed(line.substr(1, line.size() - 2)));
  const std::string_view line = lines.back().substr(0, lines.back().find('#'));
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos || line.find_first_of("\"'") != std::string_view::npos)
    return {};
  const std::string_view name = trimmed(line.substr(0, equals));
  const std::string_view value = trimmed(line.substr(equals + 1));
  const Key* const key = find_key(prefix + std::string(name));
  if (key == nullptr || value.empty() || read_toml_value(value)) return {};
  if (key->kind == Kind::text)
    return fmt::format("{} must be in quotes: {} = \"{}\"", key->help.key, name, value);
  if (key->kind != Kind::list) return wrong_type(*key, fmt::format("'{}'", value));
  const bool closed = value.size() > 2 && value.starts_with('[') && value.ends_with(']');
  if (!closed) return {};
  return fmt::format("the elements of {} must be in quotes: {} = [{}]", key->help.key, name,
                     quoted_elements(value.substr(1, value.size() - 2)));
}

// --- a file ---

class FileReader {
 public:
  FileReader(std::string_view file_name, AllGiven& given, Mistakes& mistakes)
      : file_name_(file_name), given_(given), mistakes_(mistakes) {}

  void read(const std::string& text) {
    const TomlFile file = read_toml(text);
    for (const TomlMistake& mistake : file.mistakes) {
      const std::string unquoted = unquoted_value(text, mistake.at.line);
      mistakes_.push_back(
          {place(file_name_, mistake.at), unquoted.empty() ? mistake.what : unquoted});
    }
    walk(file.table, "");
  }

 private:
  // `number`: of the table among those of its name.
  void walk(const TomlTable& table, const std::string& prefix, std::size_t number = 0) {
    for (const TomlEntry& entry : table) {
      const std::string key = prefix + entry.key;
      const std::string where = place(file_name_, entry.at);
      const std::string value_at = place(file_name_, entry.node.at);
      if (const Key* known = find_key(key)) {
        auto value = value_of(entry.node);
        if (value)
          given_.insert_or_assign(with_number(key, number), Given{value_at, *value});
        else
          mistakes_.push_back({value_at, wrong_type(*known, value.error())});
      } else if (std::ranges::count(table_names(), key) > 0) {
        if (const auto* inner = std::get_if<TomlTable>(&entry.node.value))
          walk(*inner, key + '.');
        else if (const auto* several = std::get_if<TomlArray>(&entry.node.value);
                 several != nullptr && max_of_tables(key))
          walk_all(*several, key, where);
        else
          mistakes_.push_back(
              {where, fmt::format("{0} is a table; write [{0}] and put its keys below", key)});
      } else {
        mistakes_.push_back({where, unknown_key_in_file(key)});
      }
    }
  }

  // [[key]], several times.
  void walk_all(const TomlArray& tables, const std::string& key, const std::string& where) {
    if (tables.size() > *max_of_tables(key)) {
      mistakes_.push_back({where, fmt::format("{} [[{}]] are too many; the most are {}",
                                              tables.size(), key, *max_of_tables(key))});
      return;
    }
    for (std::size_t i = 0; i < tables.size(); ++i) {
      if (const auto* inner = std::get_if<TomlTable>(&tables[i].value))
        walk(*inner, key + '.', i);
      else
        mistakes_.push_back(
            {where, fmt::format("{0} is a table; write [[{0}]] and put its keys below", key)});
    }
  }

  std::string_view file_name_;
  AllGiven& given_;
  Mistakes& mistakes_;
};

// --- the command line ---

Result<Value> toml_value(std::string_view text) {
  const auto node = read_toml_value(text);
  if (!node) return std::unexpected(fmt::format("'{}'", text));
  return value_of(*node);
}

// Strings need no quotes here, and a list is separated by commas; other values are TOML.
Result<Value> command_line_value(const Key& key, const std::string& text) {
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

void read_change(const std::string& change, AllGiven& given, Mistakes& mistakes) {
  const std::size_t equals = change.find('=');
  if (equals == std::string::npos) {
    mistakes.push_back({change, "expected key=value, for example port=5250"});
    return;
  }
  const std::string name = change.substr(0, equals);
  const std::string where = "--" + name;
  const Key* key = find_key(name);
  if (key == nullptr) {
    mistakes.push_back({where, unknown_key(name)});
    return;
  }
  auto value = command_line_value(*key, change.substr(equals + 1));
  if (value)
    given.insert_or_assign(with_number(name, 0), Given{where, *std::move(value)});
  else
    mistakes.push_back({where, wrong_type(*key, value.error())});
}

// --- from values to settings ---

// Checks the keys that a policy for two machines needs; empty: they are valid.
std::string policy_mistake(const Settings& settings) {
  const bool needs_host =
      settings.lock_policy == LockPolicy::witness || settings.lock_policy == LockPolicy::preferred;
  if (needs_host && settings.lock_policy_host.empty())
    return "this policy needs a machine; set locks.policy-host to its name";
  if (!needs_host && !settings.lock_policy_host.empty())
    return "locks.policy-host is only for the policies witness and preferred; remove it";
  if (settings.lock_policy == LockPolicy::witness && settings.lock_expect != 3)
    return "the policy witness has three voters, two machines and the witness; set locks.expect = "
           "3";
  const bool two_voters = settings.lock_policy == LockPolicy::preferred ||
                          settings.lock_policy == LockPolicy::available;
  if (two_voters && settings.lock_expect != 2)
    return "this policy is for two machines; set locks.expect = 2";
  return "";
}

// Every source has a socket of its own.
void check_utc_sources(const Settings& settings, const AllGiven& given, Mistakes& mistakes) {
  const auto place_of = [&](std::size_t number) {
    const std::string prefix = fmt::format("utc.source[{}].", number);
    const auto first = given.lower_bound(prefix);
    return first == given.end() ? prefix : first->second.where;
  };
  for (std::size_t i = 0; i < settings.utc_sources.size(); ++i) {
    const UtcSourceSettings& source = settings.utc_sources[i];
    if (source.path.empty() && !given.contains(fmt::format("utc.source[{}].path", i)))
      mistakes.push_back({place_of(i),
                          "a source of UTC needs path; set it to the socket of the "
                          "program that sends UTC"});
    for (std::size_t j = 0; j < i; ++j)
      if (!source.path.empty() && settings.utc_sources[j].path == source.path)
        mistakes.push_back({place_of(i), fmt::format("two sources of UTC have the path {}; give "
                                                     "each its own",
                                                     source.path)});
  }
  if (settings.trusted && !settings.utc_sources.empty())
    mistakes.push_back({place_of(0),
                        "utc.source and trusted exclude each other: with trusted, the "
                        "kernel clock is the source; remove one of them"});
}

// An address belongs to one group, and a group has one table.
void check_vips(const Settings& settings, const AllGiven& given, Mistakes& mistakes) {
  for (std::size_t i = 0; i < settings.vips.size(); ++i) {
    const VipSettings& vip = settings.vips[i];
    const std::string prefix = fmt::format("vip[{}].", i);
    const auto first = given.lower_bound(prefix);
    const std::string where = first == given.end() ? prefix : first->second.where;
    for (const char* key : {"group", "interface", "addresses"})
      if (!given.contains(prefix + key))
        mistakes.push_back({where, fmt::format("[[vip]] needs {}; set it", key)});
    for (std::size_t j = 0; j < i; ++j) {
      const VipSettings& other = settings.vips[j];
      if (!vip.group.empty() && other.group == vip.group)
        mistakes.push_back({where, fmt::format("two [[vip]] have the group '{}'; write their "
                                               "addresses into one list",
                                               vip.group)});
      for (const std::string& address : vip.addresses)
        if (std::ranges::find(other.addresses, address) != other.addresses.end())
          mistakes.push_back(
              {where, fmt::format("two [[vip]] have the address {}; remove one", address)});
    }
  }
}

void check_ntp(const Settings& settings, const AllGiven& given, Mistakes& mistakes) {
  const bool fed =
      std::ranges::count(settings.utc_sources, settings.ntp_feed, &UtcSourceSettings::path) > 0;
  if (settings.ntp_servers.size() > kMaxNtpServers)
    mistakes.push_back(
        {given.at("ntp.servers").where, fmt::format("{} servers are too many; the most are {}",
                                                    settings.ntp_servers.size(), kMaxNtpServers)});
  if (settings.ntp_servers.empty() != settings.ntp_feed.empty())
    mistakes.push_back({given.at(settings.ntp_feed.empty() ? "ntp.servers" : "ntp.feed").where,
                        "ntp.servers and ntp.feed need each other; set both or neither"});
  else if (!settings.ntp_feed.empty() && !fed)
    mistakes.push_back({given.at("ntp.feed").where,
                        "ntp.feed must be the path of a [[utc.source]], which says how large the "
                        "error of its samples may be; add one with this path"});
  if (!settings.ntp_serve && settings.ntp_servers.empty())
    mistakes.push_back({given.at("ntp.serve").where,
                        "without ntp.serve and ntp.servers tempo-ntp has nothing to do; set one"});
}

// Keys of things that TSP does not have, or that would look safer than they are.
void check_classic(const Settings& settings, const AllGiven& given, Mistakes& mistakes) {
  const auto refuse = [&](std::string_view key, std::string_view why) {
    const auto found = given.find(std::string(key));
    mistakes.push_back({found == given.end() ? given.at("mode").where : found->second.where,
                        fmt::format("mode = \"classic\" and {} exclude each other: {}", key, why)});
  };
  if (settings.key_file_given && !settings.key_file.empty())
    refuse("key-file",
           "TSP has no authentication, so a key would protect nothing; remove key-file, or set "
           "mode = \"tempo\"");
  if (settings.ipv6) refuse("ipv6", "TSP uses IPv4 broadcast; remove ipv6");
  if (settings.clock == ClockKind::none)
    refuse("clock",
           "other hosts measure the clock of this machine and would correct it in every round; "
           "set clock = \"system\"");
  if (settings.lock_expect > 0 || settings.lock_back_end == LockBackEnd::etcd)
    refuse(settings.lock_expect > 0 ? "locks.expect" : "locks.back-end",
           "TSP has no locks; remove the table [locks]");
  if (!settings.node_key_file.empty())
    refuse("groups.node-key-file", "TSP has no groups; remove the table [groups]");
  if (!settings.utc_sources.empty())
    refuse("utc.source[0].path", "TSP carries no UTC; remove [[utc.source]]");
  for (const auto& [key, door] : {std::pair{"doors.clockbound", &settings.clockbound},
                                  std::pair{"doors.chrony", &settings.chrony}})
    if (!door->empty())
      refuse(key, "time of TSP has no error bound that programs could be given; remove it");
}

void check_relations(const Settings& settings, const AllGiven& given, Mistakes& mistakes) {
  const auto has = [&](const char* key) { return given.contains(key); };
  if (!settings.broadcast.empty() && settings.bind.empty() && has("broadcast"))
    mistakes.push_back({given.at("broadcast").where,
                        "broadcast needs bind; set bind to local addresses, or remove broadcast: "
                        "tempod finds the broadcast addresses of interfaces itself"});
  if (!settings.bind.empty() && !settings.interfaces.empty())
    mistakes.push_back(
        {given.at("bind").where, "bind and interfaces exclude each other; remove one of them"});
  if (settings.trusted && settings.clock != ClockKind::none)
    mistakes.push_back({given.at("trusted").where,
                        "trusted needs clock = \"none\", because another program sets this "
                        "machine's clock; set clock or remove trusted"});
  if (settings.mode == Mode::classic)
    check_classic(settings, given, mistakes);
  else if (const auto key = given.lower_bound("classic.");
           key != given.end() && key->first.starts_with("classic."))
    mistakes.push_back(
        {key->second.where, fmt::format("{} needs mode = \"classic\"; set mode or remove {}",
                                        key->first, key->first)});
  check_utc_sources(settings, given, mistakes);
  check_ntp(settings, given, mistakes);
  check_vips(settings, given, mistakes);
  if (has("locks.policy") || has("locks.policy-host"))
    if (const std::string mistake = policy_mistake(settings); !mistake.empty())
      mistakes.push_back(
          {given.at(has("locks.policy") ? "locks.policy" : "locks.policy-host").where, mistake});
  if (!settings.lock_voters.empty() && settings.lock_expect != settings.lock_voters.size())
    mistakes.push_back({given.at("locks.voters").where,
                        fmt::format("voters names {} machines, but expect = {}; remove expect or "
                                    "make them equal",
                                    settings.lock_voters.size(), settings.lock_expect)});
  if (settings.lock_back_end == LockBackEnd::etcd && settings.lock_expect > 0)
    mistakes.push_back({given.at("locks.back-end").where,
                        "back-end = \"etcd\" and expect exclude each other, because locks in etcd "
                        "have no voters; remove one of them"});
  if (settings.node_key_file.empty() != settings.node_list_file.empty())
    mistakes.push_back(
        {given.at(settings.node_key_file.empty() ? "groups.node-list-file" : "groups.node-key-file")
             .where,
         "node-key-file and node-list-file need each other; set both or neither"});
  if (settings.etcd_cert_file.empty() != settings.etcd_key_file.empty())
    mistakes.push_back(
        {given.at(settings.etcd_cert_file.empty() ? "locks.etcd-key-file" : "locks.etcd-cert-file")
             .where,
         "etcd-cert-file and etcd-key-file need each other; set both or neither"});
}

std::expected<Settings, Mistakes> apply(const AllGiven& given, Mistakes mistakes) {
  Settings settings;
  bool timers_valid = true;
  // The profile comes first: the timers change its values. TSP has the timers of 4.3BSD.
  const auto mode = given.find("mode");
  if (mode != given.end() && mode->second.value == Value{std::string("classic")})
    settings.profile = "classic";
  if (const auto found = given.find("profile"); found != given.end()) {
    if (const auto error = set(settings, *find_key("profile"), found->second.value)) {
      mistakes.push_back({found->second.where, *error});
      timers_valid = false;
    }
  }
  if (const auto timing = election::profile(settings.profile)) settings.timing = *timing;

  std::string timers_at;
  std::string table;  // of the last numbered key, with its number
  for (const auto& [key, one] : given) {
    if (key == "profile") continue;
    const bool timer = key.starts_with("timers.");
    if (timer && timers_at.empty()) timers_at = one.where;
    const std::size_t number = key.find('[');
    if (number != std::string::npos && key.substr(0, key.find(']')) != table) {
      table = key.substr(0, key.find(']'));
      begin_table(settings, key.substr(0, number));
    }
    if (const auto error = set(settings, *find_key(without_number(key)), one.value)) {
      mistakes.push_back({one.where, *error});
      timers_valid = timers_valid && !timer;
    }
  }
  if (!given.contains("locks.expect"))
    settings.lock_expect = static_cast<std::uint8_t>(settings.lock_voters.size());
  check_relations(settings, given, mistakes);
  if (timers_valid && !timers_at.empty())
    for (const std::string& fault : election::faults_of({.timing = settings.timing}))
      mistakes.push_back({timers_at, fault});

  if (!mistakes.empty()) return std::unexpected(std::move(mistakes));
  return settings;
}

// Sorts by line and column; mistakes outside the file come last.
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

std::expected<Settings, Mistakes> apply_sorted(const AllGiven& given, Mistakes mistakes,
                                               std::string_view file_name) {
  auto settings = apply(given, std::move(mistakes));
  if (!settings) sort_by_place(settings.error(), file_name);
  return settings;
}

}  // namespace

std::expected<Settings, std::vector<Mistake>> read_settings(std::string_view text,
                                                            std::string_view file_name) {
  AllGiven given_values;
  Mistakes mistakes;
  FileReader(file_name, given_values, mistakes).read(std::string(text));
  return apply_sorted(given_values, std::move(mistakes), file_name);
}

std::expected<Settings, std::vector<Mistake>> load_settings(
    const std::string& file, bool given, const std::vector<std::string>& changes) {
  AllGiven given_values;
  Mistakes mistakes;
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::string text;
  if (in) {
    char c = 0;
    while (text.size() <= kMaxTomlBytes && in.get(c)) text += c;
  }
  const bool missing = !in.is_open() && errno == ENOENT;
  if (in.is_open() && !in.bad() && text.size() <= kMaxTomlBytes) {
    FileReader(file, given_values, mistakes).read(text);
  } else if (text.size() > kMaxTomlBytes) {
    mistakes.push_back(
        {file,
         fmt::format("is larger than {} bytes, the limit of a configuration file; check the path",
                     kMaxTomlBytes)});
  } else if (given || !missing) {
    mistakes.push_back(
        {file,
         fmt::format("cannot be read ({}); fix the path or the permissions, or give no file: every "
                     "key has a default",
                     std::strerror(errno == 0 ? EIO : errno))});
  }
  for (const std::string& change : changes) read_change(change, given_values, mistakes);
  return apply_sorted(given_values, std::move(mistakes), file);
}

}  // namespace tempo::config
