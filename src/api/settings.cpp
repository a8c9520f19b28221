// Values of a file with their places go to the table in keys.cpp.
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

// What was said for one key, the last word of all who spoke.
struct Said {
  std::string where;
  Value value;
};
using AllSaid = std::map<std::string, Said>;  // by key

std::string place(std::string_view file, const TomlPlace& at) {
  return fmt::format("{}:{}:{}", file, at.line, at.column);
}

// The value as one of our kinds, or what it is instead.
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
    if (text == nullptr) return std::unexpected("a list with something else than texts in it");
    texts.push_back(*text);
  }
  return Value{std::move(texts)};
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
    const TomlFile file = read_toml(std::move(text));
    for (const TomlMistake& mistake : file.mistakes)
      mistakes_.push_back({place(file_name_, mistake.at), mistake.what});
    walk(file.table, "");
  }

 private:
  void walk(const TomlTable& table, const std::string& prefix) {
    for (const TomlEntry& entry : table) {
      const std::string key = prefix + entry.key;
      const std::string where = place(file_name_, entry.at);
      const std::string value_at = place(file_name_, entry.node.at);
      if (const Key* known = find_key(key)) {
        auto value = value_of(entry.node);
        if (value)
          said_.insert_or_assign(key, Said{value_at, *value});
        else
          mistakes_.push_back({value_at, unlike(*known, value.error())});
      } else if (std::ranges::count(table_names(), key) > 0) {
        if (const auto* inner = std::get_if<TomlTable>(&entry.node.value))
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
  const auto node = read_toml_value(text);
  if (!node) return std::unexpected(fmt::format("'{}'", text));
  return value_of(*node);
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
  if (settings.lock_back_end == LockBackEnd::etcd && settings.lock_expect > 0)
    mistakes.push_back({said.at("locks.back-end").where,
                        "back-end = \"etcd\" goes without expect: nobody votes on locks that etcd "
                        "keeps; remove one of the two"});
  if (settings.node_key_file.empty() != settings.node_list_file.empty())
    mistakes.push_back(
        {said.at(settings.node_key_file.empty() ? "groups.node-list-file" : "groups.node-key-file")
             .where,
         "node-key-file and node-list-file go together; give both or none"});
  if (settings.etcd_cert_file.empty() != settings.etcd_key_file.empty())
    mistakes.push_back(
        {said.at(settings.etcd_cert_file.empty() ? "locks.etcd-key-file" : "locks.etcd-cert-file")
             .where,
         "etcd-cert-file and etcd-key-file go together; give both or none"});
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
    while (text.size() <= kMaxTomlBytes && in.get(c)) text += c;
  }
  const bool missing = !in.is_open() && errno == ENOENT;
  if (in.is_open() && !in.bad() && text.size() <= kMaxTomlBytes) {
    FileReader(file, said, mistakes).read(std::move(text));
  } else if (text.size() > kMaxTomlBytes) {
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
