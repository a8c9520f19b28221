#include "api/config_keys.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/core.h>

#include "api/config_errors.h"

namespace tempo::config {
namespace {

using Texts = std::vector<std::string>;

constexpr double kDayMs = 86'400'000;

Nanos from_ms(double ms) { return Nanos{std::llround(ms * 1e6)}; }

// --- where values go ---

template <auto Member>
void put_text(Settings& settings, const Value& value) {
  settings.*Member = std::get<std::string>(value);
}
template <auto Member>
void put_list(Settings& settings, const Value& value) {
  settings.*Member = std::get<Texts>(value);
}
template <auto Member>
void put_flag(Settings& settings, const Value& value) {
  settings.*Member = std::get<bool>(value);
}
template <auto Member>
void put_timer(Settings& settings, const Value& value) {
  settings.timing.*Member = from_ms(std::get<double>(value));
}
template <auto Member>
void put_count(Settings& settings, const Value& value) {
  settings.timing.*Member = static_cast<std::uint32_t>(std::get<std::int64_t>(value));
}

Key text_key(std::string_view key, std::string_view fallback, std::string_view meaning,
             void (*put)(Settings&, const Value&), Complaint (*wrong)(const Value&),
             std::string_view type = "a text") {
  return {{key, type, fallback, meaning}, Kind::text, 0, 0, put, wrong};
}
Key list_key(std::string_view key, std::string_view type, std::string_view meaning,
             void (*put)(Settings&, const Value&), Complaint (*wrong)(const Value&)) {
  return {{key, type, "[]", meaning}, Kind::list, 0, 0, put, wrong};
}
Key flag_key(std::string_view key, std::string_view fallback, std::string_view meaning,
             void (*put)(Settings&, const Value&)) {
  return {{key, "true or false", fallback, meaning}, Kind::flag, 0, 0, put, nullptr};
}
Key timer_key(std::string_view key, std::string_view meaning,
              void (*put)(Settings&, const Value&)) {
  return {{key, "a number from 0.001 to 86400000", "the profile's", meaning},
          Kind::number,
          0.001,
          kDayMs,
          put,
          nullptr};
}

using election::Timing;

const std::vector<Key>& keys() {  // NOLINT(readability-function-size): one table
  static const std::vector<Key> table{
      text_key("cluster", "\"tempo\"", "the network's name; networks of other names are not heard",
               put_text<&Settings::cluster>, bad_cluster),
      text_key("name", "the host's", "this machine's name in the eyes of the others",
               put_text<&Settings::name>, bad_name),
      text_key("profile", "\"lan\"",
               "how long things last: classic (4.3BSD's values), lan, or fast (a silent master is "
               "replaced within some tens of milliseconds); the same on every machine",
               put_text<&Settings::profile>, bad_profile, "one of \"classic\", \"lan\", \"fast\""),
      {{"port", "a whole number from 1 to 65535", "525", "the UDP port, the same on every machine"},
       Kind::whole,
       1,
       65535,
       [](Settings& settings, const Value& value) {
         settings.port = static_cast<std::uint16_t>(std::get<std::int64_t>(value));
       },
       nullptr},
      list_key("interfaces", "a list of interface names",
               "the networks to take part in; empty: all that are up and can broadcast",
               put_list<&Settings::interfaces>, bad_interfaces),
      list_key("peers", "a list of addresses",
               "machines to reach one by one, where there is no broadcast",
               put_list<&Settings::peers>, bad_addresses),
      list_key("bind", "a list of addresses",
               "addresses to use instead of the interfaces', for tests and demonstrations",
               put_list<&Settings::bind>, bad_addresses),
      text_key("broadcast", "none", "with `bind`: the address that reaches everybody",
               put_text<&Settings::broadcast>, bad_broadcast, "an address"),
      flag_key("ipv6", "false", "link-local multicast instead of IPv4 broadcast",
               put_flag<&Settings::ipv6>),
      flag_key("hardware-stamps", "true", "use stamps of network cards that have clocks",
               put_flag<&Settings::hardware_stamps>),
      text_key(
          "key-file", "\"/etc/tempo/key\"",
          "the cluster's key, written by `tempo keygen`; \"\", or nothing at the default place, "
          "means no key",
          [](Settings& settings, const Value& value) {
            settings.key_file = std::get<std::string>(value);
            settings.key_file_given = true;
          },
          bad_path_or_none, "an absolute path"),
      flag_key(
          "trusted", "false",
          "this machine's clock is kept by GPS, PTP or NTP: network time follows such machines; "
          "needs clock = \"none\"",
          put_flag<&Settings::trusted>),
      flag_key("may-lead", "true", "whether this machine may become master",
               put_flag<&Settings::may_lead>),
      {{"lead-priority", "a whole number from 0 to 9", "9",
        "machines with lower ones let others stand for master first"},
       Kind::whole,
       0,
       9,
       [](Settings& settings, const Value& value) {
         settings.lead_priority = static_cast<std::uint8_t>(std::get<std::int64_t>(value));
       },
       nullptr},
      text_key(
          "clock", "\"system\"",
          "what is steered: the kernel's clock, a clock inside tempod, or nothing (measure only)",
          [](Settings& settings, const Value& value) {
            for (const auto& [name, kind] : kClocks)
              if (name == std::get<std::string>(value)) settings.clock = kind;
          },
          bad_clock, "one of \"system\", \"software\", \"none\""),
      {{"step-limit-ms", "a number from 0.001 to 86400000", "500",
        "a clock further off than this is stepped, a nearer one slewed"},
       Kind::number,
       0.001,
       kDayMs,
       [](Settings& settings, const Value& value) {
         settings.step_limit = from_ms(std::get<double>(value));
       },
       nullptr},
      {{"bound-alarm-us", "a number from 0.001 to 86400000000", "none",
        "the hook is called when the bound of the error exceeds it"},
       Kind::number,
       0.001,
       kDayMs * 1000,
       [](Settings& settings, const Value& value) {
         settings.bound_alarm = from_ms(std::get<double>(value) / 1000);
       },
       nullptr},
      text_key("log-level", "\"info\"", "what is logged: this and what is worse",
               put_text<&Settings::log_level>, bad_log_level,
               "one of \"error\", \"warning\", \"info\""),
      text_key("state-dir", "\"/var/lib/tempo\"",
               "where the clock's drift and the last epoch are kept across restarts",
               put_text<&Settings::state_dir>, bad_path, "an absolute path"),
      text_key("socket", "\"/run/tempo/tempod.sock\"", "the unix socket on which tempod answers",
               put_text<&Settings::socket>, bad_socket, "an absolute path"),
      text_key("user", "\"tempo\"", "whom to run as when started as root; \"\" stays root",
               put_text<&Settings::user>, bad_name),
      text_key("hook", "none", "a program called on events, see tempod(8)",
               put_text<&Settings::hook>, bad_path_or_none, "an absolute path"),
      flag_key("realtime", "true", "ask for real-time priority and memory that is not paged out",
               put_flag<&Settings::realtime>),
      text_key("machine-id", "the host's",
               "what this machine's identity is made from, for several tempods on one host",
               put_text<&Settings::machine_id>, bad_name),

      timer_key("timers.adjtime-ms", "from one synchronization round to the next",
                put_timer<&Timing::adjtime>),
      timer_key("timers.loop-ms", "from one sign of life of the master to the next",
                put_timer<&Timing::loop>),
      timer_key("timers.election-min-ms", "a slave's shortest patience with a silent master",
                put_timer<&Timing::election_min>),
      timer_key("timers.election-max-ms", "a slave's longest patience with a silent master",
                put_timer<&Timing::election_max>),
      timer_key("timers.startup-ms", "how long a starting machine waits for a master's answer",
                put_timer<&Timing::startup>),
      timer_key("timers.no-master-ms", "how long it then listens before it becomes master",
                put_timer<&Timing::no_master>),
      timer_key("timers.candidate-ms", "silence after the last vote that makes a candidate master",
                put_timer<&Timing::candidate>),
      timer_key("timers.accept-ms", "how long a vote binds", put_timer<&Timing::accept>),
      timer_key("timers.consistency-ms", "how long a newcomer listens for a second master",
                put_timer<&Timing::consistency>),
      timer_key("timers.conflict-ms", "how long a master collects the answers of rivals",
                put_timer<&Timing::conflict>),
      timer_key("timers.retransmit-ms", "to the second send of a message; doubles",
                put_timer<&Timing::retransmit>),
      {{"timers.sends", "a whole number from 1 to 16", "the profile's",
        "how often a message is sent at most before its receiver counts as gone"},
       Kind::whole,
       1,
       16,
       put_count<&Timing::sends>,
       nullptr},
      timer_key("timers.delay-ms", "the largest delay of a datagram", put_timer<&Timing::delay>),
      {{"timers.loops-per-election", "a whole number from 0 to 1000", "the profile's",
        "the shortest patience outlasts this many signs of life"},
       Kind::whole,
       0,
       1000,
       put_count<&Timing::loops_per_election>,
       nullptr},
      {{"timers.loops-per-startup", "a whole number from 0 to 1000", "the profile's",
        "a start lasts this many signs of life and a delay"},
       Kind::whole,
       0,
       1000,
       put_count<&Timing::loops_per_startup>,
       nullptr},

      {{"locks.expect", "a whole number from 0 to 8", "0",
        "how many machines vote on locks, the same on each of them; 0: there are no locks"},
       Kind::whole,
       0,
       8,
       [](Settings& settings, const Value& value) {
         settings.lock_expect = static_cast<std::uint8_t>(std::get<std::int64_t>(value));
       },
       nullptr},
      {{"locks.lease-ms", "a number from 40 to 60000", "2000",
        "how long a lock stays with a machine that is not heard any more; the same everywhere"},
       Kind::number,
       40,
       60'000,
       [](Settings& settings, const Value& value) {
         settings.lock_lease = from_ms(std::get<double>(value));
       },
       nullptr},
      {{"locks.lease-max-ms", "a number from 40 to 600000", "lease-ms",
        "the longest lease that may be asked for; a machine that was restarted votes on no lock "
        "for "
        "so long; the same everywhere"},
       Kind::number,
       40,
       600'000,
       [](Settings& settings, const Value& value) {
         settings.lock_lease_max = from_ms(std::get<double>(value));
       },
       nullptr},
      {{"locks.delay-max-ms", "a number from 1 to 1000", "10",
        "the longest way of a datagram and the longest pause of a machine; while they are kept, "
        "silent locks take silence for consent"},
       Kind::number,
       1,
       1000,
       [](Settings& settings, const Value& value) {
         settings.lock_delay_max = from_ms(std::get<double>(value));
       },
       nullptr},
      text_key(
          "locks.policy", "\"strict\"",
          "of two machines, who goes on without the other: neither, both with a witness, the "
          "preferred one, or each for itself, which is UNSAFE",
          [](Settings& settings, const Value& value) {
            for (const auto& [name, policy] : kPolicies)
              if (name == std::get<std::string>(value)) settings.lock_policy = policy;
          },
          bad_policy, "one of \"strict\", \"witness\", \"preferred\", \"available\""),
      text_key("locks.policy-host", "none", "the name of the witness or of the preferred machine",
               put_text<&Settings::lock_policy_host>, bad_name),

      text_key(
          "locks.back-end", "\"tempo\"",
          "who keeps the locks: the machines themselves, or an etcd that the site runs, through "
          "tempo-etcd",
          [](Settings& settings, const Value& value) {
            for (const auto& [name, back_end] : kBackEnds)
              if (name == std::get<std::string>(value)) settings.lock_back_end = back_end;
          },
          bad_back_end, "one of \"tempo\", \"etcd\""),
      {{"locks.etcd-endpoints", "a list of URLs", "[\"http://127.0.0.1:2379\"]",
        "where etcd answers; of several the next is asked when one does not"},
       Kind::list,
       0,
       0,
       put_list<&Settings::etcd_endpoints>,
       bad_endpoints},
      text_key("locks.etcd-socket", "\"/run/tempo-etcd/etcd.sock\"",
               "the unix socket between tempod and tempo-etcd", put_text<&Settings::etcd_socket>,
               bad_socket, "an absolute path"),
      text_key("locks.etcd-ca-file", "the system's", "whose word is taken for an etcd with https",
               put_text<&Settings::etcd_ca_file>, bad_path_or_none, "an absolute path"),
      text_key("locks.etcd-cert-file", "none",
               "what tempo-etcd shows an etcd that wants to know its clients",
               put_text<&Settings::etcd_cert_file>, bad_path_or_none, "an absolute path"),
      text_key("locks.etcd-key-file", "none", "the key of that certificate",
               put_text<&Settings::etcd_key_file>, bad_path_or_none, "an absolute path"),
      text_key("groups.node-key-file", "none",
               "this machine's signing key, written by `tempo keygen --node`, for elections by B.2",
               put_text<&Settings::node_key_file>, bad_path_or_none, "an absolute path"),
      text_key("groups.node-list-file", "none",
               "the public keys of all machines that sign; the same file everywhere",
               put_text<&Settings::node_list_file>, bad_path_or_none, "an absolute path"),

      {{"software-clock.offset-ms", "a number from -1000000000 to 1000000000", "0",
        "how far off it starts"},
       Kind::number,
       -1e9,
       1e9,
       [](Settings& settings, const Value& value) {
         settings.software.offset = from_ms(std::get<double>(value));
       },
       nullptr},
      {{"software-clock.drift-ppm", "a number from -10000 to 10000", "0",
        "how much too fast its oscillator runs"},
       Kind::number,
       -10000,
       10000,
       [](Settings& settings, const Value& value) {
         settings.software.drift = std::get<double>(value) * 1e-6;
       },
       nullptr},
      {{"software-clock.wander-ppb-per-sqrt-s", "a number from 0 to 1000000", "0",
        "the random walk of that rate"},
       Kind::number,
       0,
       1e6,
       [](Settings& settings, const Value& value) {
         settings.software.wander = std::get<double>(value) * 1e-9;
       },
       nullptr},
      {{"software-clock.seed", "a whole number from 0 to 9007199254740992", "0",
        "decides the random walk"},
       Kind::whole,
       0,
       9007199254740992.0,
       [](Settings& settings, const Value& value) {
         settings.software.seed = static_cast<std::uint64_t>(std::get<std::int64_t>(value));
       },
       nullptr},
  };
  return table;
}

std::string shown(const Value& value) {
  struct Show {
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(std::int64_t number) const { return fmt::format("{}", number); }
    std::string operator()(double number) const { return fmt::format("{}", number); }
    std::string operator()(const std::string& text) const { return fmt::format("\"{}\"", text); }
    std::string operator()(const Texts&) const { return "a list"; }
  };
  return std::visit(Show{}, value);
}

// Letters to insert, remove or replace to make one word of the other; '_' passes for '-'.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  // NOLINTNEXTLINE(modernize-use-ranges): the standard library of gcc 12 has none
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const bool same = a[i] == b[j] || (a[i] == '_' && b[j] == '-');
      const std::size_t replaced = diagonal + (same ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string_view last_part(std::string_view key) { return key.substr(key.rfind('.') + 1); }

}  // namespace

const Key* find_key(std::string_view name) {
  const auto found = std::ranges::find(keys(), name, [](const Key& key) { return key.help.key; });
  return found == keys().end() ? nullptr : &*found;
}

std::vector<std::string_view> table_names() {
  return {"timers", "locks", "groups", "software-clock"};
}

std::string nearest_key(std::string_view name) {
  // A key in the wrong table, or in none, is nearest to its namesake.
  for (const Key& key : keys())
    if (last_part(key.help.key) == last_part(name)) return std::string(key.help.key);
  std::vector<std::string_view> known = table_names();
  for (const Key& key : keys()) known.push_back(key.help.key);
  std::string_view nearest;
  std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    const std::size_t far =
        std::min(distance(name, candidate), distance(name, last_part(candidate)));
    if (far < least) {
      least = far;
      nearest = candidate;
    }
  }
  return std::string(nearest);
}

std::vector<KeyHelp> all_keys() {
  std::vector<KeyHelp> all;
  all.reserve(keys().size());
  for (const Key& key : keys()) all.push_back(key.help);
  return all;
}

std::optional<std::string> set(Settings& settings, const Key& key, Value value) {
  if (key.kind == Kind::number && std::holds_alternative<std::int64_t>(value))
    value = static_cast<double>(std::get<std::int64_t>(value));
  const auto refuse = [&] {
    return fmt::format("{} takes {}, not {}", key.help.key, key.help.type, shown(value));
  };
  if (value.index() != static_cast<std::size_t>(key.kind)) return refuse();
  if (key.kind == Kind::whole || key.kind == Kind::number) {
    const double number = key.kind == Kind::whole
                              ? static_cast<double>(std::get<std::int64_t>(value))
                              : std::get<double>(value);
    if (!(number >= key.least && number <= key.most)) return refuse();  // not a number, too
  }
  if (key.wrong != nullptr)
    if (const auto why = key.wrong(value)) return fmt::format("{} {}", key.help.key, *why);
  key.put(settings, value);
  return std::nullopt;
}

}  // namespace tempo::config
