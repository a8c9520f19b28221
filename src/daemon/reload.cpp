#include "daemon/reload.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "base/json.h"

namespace tempo::daemon {
namespace {

using config::Settings;

struct Row {
  std::string_view key;
  bool (*same)(const Settings&, const Settings&);
  // Null: the key needs a restart.
  void (*take)(Settings&, const Settings&) = nullptr;
  std::string (*write)(const Settings&) =
      nullptr;  // null: the worker does not need it; empty: not set
};

template <auto Member>
bool same(const Settings& a, const Settings& b) {
  return a.*Member == b.*Member;
}
template <auto Member>
void take(Settings& into, const Settings& from) {
  into.*Member = from.*Member;
}
template <auto Member>
bool same_timer(const Settings& a, const Settings& b) {
  return a.timing.*Member == b.timing.*Member;
}
template <auto Member>
bool same_software(const Settings& a, const Settings& b) {
  return a.software.*Member == b.software.*Member;
}

// A JSON string is a TOML string too.
std::string quoted(const std::string& text) {
  const std::string line = Json::array().push(text).line();
  return line.substr(1, line.size() - 2);
}
template <auto Member>
std::string list(const Settings& settings) {
  Json all = Json::array();
  for (const std::string& text : settings.*Member) all.push(text);
  return all.line();
}

using election::Timing;

constexpr std::array kRows{
    Row{"cluster", same<&Settings::cluster>},
    Row{"name", same<&Settings::name>},
    Row{"profile", same<&Settings::profile>},
    Row{"port", same<&Settings::port>},
    Row{"interfaces", same<&Settings::interfaces>, take<&Settings::interfaces>,
        list<&Settings::interfaces>},
    Row{"peers", same<&Settings::peers>},
    Row{"bind", same<&Settings::bind>},
    Row{"broadcast", same<&Settings::broadcast>},
    Row{"ipv6", same<&Settings::ipv6>},
    Row{"hardware-stamps", same<&Settings::hardware_stamps>},
    Row{"key-file", same<&Settings::key_file>,
        [](Settings& into, const Settings& from) {
          into.key_file = from.key_file;
          into.key_file_given = from.key_file_given;
        }},
    Row{"may-lead", same<&Settings::may_lead>, take<&Settings::may_lead>,
        [](const Settings& settings) { return fmt::format("{}", settings.may_lead); }},
    Row{"priority", same<&Settings::priority>},
    Row{"clock", same<&Settings::clock>},
    Row{"trusted", same<&Settings::trusted>},
    Row{"step-limit-ms", same<&Settings::step_limit>, take<&Settings::step_limit>,
        [](const Settings& settings) {
          return fmt::format("{:.6f}", static_cast<double>(settings.step_limit.count()) * 1e-6);
        }},
    Row{"max-delay-ms", same<&Settings::max_delay>, take<&Settings::max_delay>,
        [](const Settings& settings) {
          return fmt::format("{:.6f}", static_cast<double>(settings.max_delay.count()) * 1e-6);
        }},
    Row{"drift-allowance-ppm", same<&Settings::drift_allowance>},
    Row{"rate-jump-max-ppm", same<&Settings::rate_jump_max>},
    Row{"bound-alarm-us", same<&Settings::bound_alarm>, take<&Settings::bound_alarm>,
        [](const Settings& settings) {
          return settings.bound_alarm
                     ? fmt::format("{:.3f}",
                                   static_cast<double>(settings.bound_alarm->count()) * 1e-3)
                     : std::string{};
        }},
    Row{"log-level", same<&Settings::log_level>, take<&Settings::log_level>,
        [](const Settings& settings) { return quoted(settings.log_level); }},
    Row{"state-dir", same<&Settings::state_dir>},
    Row{"socket", same<&Settings::socket>},
    Row{"user", same<&Settings::user>},
    Row{"hook", same<&Settings::hook>, take<&Settings::hook>},
    Row{"hook-user", same<&Settings::hook_user>, take<&Settings::hook_user>},
    Row{"realtime", same<&Settings::realtime>},
    Row{"system-call-filter", same<&Settings::system_call_filter>},
    Row{"machine-id", same<&Settings::machine_id>},
    Row{"timers.adjtime-ms", same_timer<&Timing::adjtime>},
    Row{"timers.loop-ms", same_timer<&Timing::loop>},
    Row{"timers.election-min-ms", same_timer<&Timing::election_min>},
    Row{"timers.election-max-ms", same_timer<&Timing::election_max>},
    Row{"timers.startup-ms", same_timer<&Timing::startup>},
    Row{"timers.no-master-ms", same_timer<&Timing::no_master>},
    Row{"timers.candidate-ms", same_timer<&Timing::candidate>},
    Row{"timers.accept-ms", same_timer<&Timing::accept>},
    Row{"timers.consistency-ms", same_timer<&Timing::consistency>},
    Row{"timers.conflict-ms", same_timer<&Timing::conflict>},
    Row{"timers.retransmit-ms", same_timer<&Timing::retransmit>},
    Row{"timers.sends", same_timer<&Timing::sends>},
    Row{"timers.delay-ms", same_timer<&Timing::delay>},
    Row{"timers.loops-per-election", same_timer<&Timing::loops_per_election>},
    Row{"timers.loops-per-startup", same_timer<&Timing::loops_per_startup>},
    Row{"locks.expect", same<&Settings::lock_expect>},
    Row{"locks.voters", same<&Settings::lock_voters>},
    Row{"locks.lease-ms", same<&Settings::lock_lease>},
    Row{"locks.lease-max-ms", same<&Settings::lock_lease_max>},
    Row{"locks.delay-max-ms", same<&Settings::lock_delay_max>},
    Row{"locks.policy", same<&Settings::lock_policy>},
    Row{"locks.policy-host", same<&Settings::lock_policy_host>},
    Row{"locks.back-end", same<&Settings::lock_back_end>},
    Row{"locks.etcd-endpoints", same<&Settings::etcd_endpoints>},
    Row{"locks.etcd-socket", same<&Settings::etcd_socket>},
    Row{"locks.etcd-ca-file", same<&Settings::etcd_ca_file>},
    Row{"locks.etcd-cert-file", same<&Settings::etcd_cert_file>},
    Row{"locks.etcd-key-file", same<&Settings::etcd_key_file>},
    Row{"groups.node-key-file", same<&Settings::node_key_file>},
    Row{"groups.node-list-file", same<&Settings::node_list_file>},
    Row{"software-clock.offset-ms", same_software<&config::SoftwareClock::offset>},
    Row{"software-clock.drift-ppm", same_software<&config::SoftwareClock::drift>},
    Row{"software-clock.wander-ppb-per-sqrt-s", same_software<&config::SoftwareClock::wander>},
    Row{"software-clock.seed", same_software<&config::SoftwareClock::seed>},
};

}  // namespace

Difference difference(const Settings& before, const Settings& after) {
  Difference found;
  for (const Row& row : kRows)
    if (!row.same(before, after))
      (row.take != nullptr ? found.now : found.restart).emplace_back(row.key);
  return found;
}

Settings changed(const Settings& before, const Settings& after) {
  Settings settings = before;
  for (const Row& row : kRows)
    if (row.take != nullptr) row.take(settings, after);
  return settings;
}

std::string reload_text(const Settings& settings, std::string_view keys) {
  std::string text;
  for (const Row& row : kRows) {
    if (row.write == nullptr) continue;
    const std::string value = row.write(settings);
    if (!value.empty()) text += fmt::format("{}={}\n", row.key, value);
  }
  return fmt::format("{}\n{}", text, keys);
}

Result<ReloadMessage> parse_reload(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty() && text.front() != '\n') {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  text.remove_prefix(std::min<std::size_t>(1, text.size()));
  auto settings = config::load_settings("", false, lines);
  if (!settings) return std::unexpected(settings.error().front().what);
  ReloadMessage message{.settings = std::move(*settings)};
  if (text.empty()) return message;
  TRY(keys, auth::parse_keys(text));
  message.keys = auth::Keyring(keys);
  return message;
}

}  // namespace tempo::daemon
