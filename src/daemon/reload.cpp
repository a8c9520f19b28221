#include "daemon/reload.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

#include "base/json.h"
#include "protocol/wire/liveness.h"

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
  // Whether this change can take effect; null: every one.
  bool (*can)(const Settings& before, const Settings& after) = nullptr;
  std::string_view why{};  // reason why a change needs a restart; empty: none that matters to users
};

bool takes_effect(const Row& row, const Settings& before, const Settings& after) {
  return row.take != nullptr && (row.can == nullptr || row.can(before, after));
}

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

template <auto Member>
bool same_source(const Settings& a, const Settings& b) {
  return std::ranges::equal(a.utc_sources, b.utc_sources, {}, Member, Member);
}
template <auto Member>
bool same_vip(const Settings& a, const Settings& b) {
  return std::ranges::equal(a.vips, b.vips, {}, Member, Member);
}
template <auto Member>
void take_timer(Settings& into, const Settings& from) {
  into.timing.*Member = from.timing.*Member;
}
template <auto Member>
std::string write_timer(const Settings& settings) {
  if constexpr (std::is_same_v<decltype(settings.timing.*Member), const Nanos&> ||
                std::is_same_v<std::remove_cvref_t<decltype(settings.timing.*Member)>, Nanos>)
    return fmt::format("{:.6f}", static_cast<double>((settings.timing.*Member).count()) * 1e-6);
  else
    return fmt::format("{}", settings.timing.*Member);
}

// Other processes are live for a period that the codec takes from the interval of exchanges at its
// start.
bool same_liveness(const Settings& before, const Settings& after) {
  const auto period = [](const Settings& settings) {
    return std::max<Nanos>(wire::Liveness::kLeastPeriod,
                           wire::Liveness::kExchangesPerPeriod * settings.timing.adjtime);
  };
  return period(before) == period(after);
}
constexpr std::string_view kLiveness =
    "the exchanges become so rare or so frequent that other machines are live for another time";
constexpr std::string_view kLeases =
    "leases of the old length may be in force on other machines; restart tempod on all machines, "
    "one after the other";

// A machine without locks has no lock service, and one with locks may hold some.
bool keeps_locks(const Settings& before, const Settings& after) {
  return (before.lock_expect == 0) == (after.lock_expect == 0);
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
    Row{.key = "cluster",
        .same = same<&Settings::cluster>,
        .why = "locks and votes of this machine belong to the old cluster"},
    Row{"name", same<&Settings::name>},
    Row{"profile", same<&Settings::profile>, take<&Settings::profile>,
        [](const Settings& settings) { return quoted(settings.profile); }, same_liveness,
        kLiveness},
    Row{"mode", same<&Settings::mode>},
    Row{"classic.peers", same<&Settings::classic_peers>},
    Row{"classic.correction-limit-ms", same<&Settings::classic_correction_limit>},
    Row{"classic.setdate", same<&Settings::classic_setdate>},
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
    Row{"utc.source.path", same_source<&config::UtcSourceSettings::path>},
    Row{"utc.source.error-us", same_source<&config::UtcSourceSettings::error>},
    Row{"utc.source.priority", same_source<&config::UtcSourceSettings::priority>},
    Row{"kernel-claims", same<&Settings::kernel_claims>},
    Row{"tai-offset-s", same<&Settings::tai_offset>},
    Row{"doors.clockbound", same<&Settings::clockbound>},
    Row{"doors.chrony", same<&Settings::chrony>},
    Row{"claims-limit-ms", same<&Settings::claims_limit>},
    Row{"log-level", same<&Settings::log_level>, take<&Settings::log_level>,
        [](const Settings& settings) { return quoted(settings.log_level); }},
    Row{"state-dir", same<&Settings::state_dir>},
    Row{"socket", same<&Settings::socket>},
    Row{"user", same<&Settings::user>},
    Row{"hook", same<&Settings::hook>, take<&Settings::hook>},
    Row{"hook-user", same<&Settings::hook_user>, take<&Settings::hook_user>},
    Row{"remote-read", same<&Settings::remote_read>, take<&Settings::remote_read>,
        [](const Settings& settings) {
          return quoted(settings.remote_read == config::RemoteRead::open  ? "open"
                        : settings.remote_read == config::RemoteRead::off ? "off"
                                                                          : "key");
        }},
    Row{"realtime", same<&Settings::realtime>},
    Row{"system-call-filter", same<&Settings::system_call_filter>},
    Row{"machine-id", same<&Settings::machine_id>},
    Row{"ntp.listen", same<&Settings::ntp_listen>},
    Row{"ntp.port", same<&Settings::ntp_port>},
    Row{"ntp.serve", same<&Settings::ntp_serve>},
    Row{"ntp.servers", same<&Settings::ntp_servers>},
    Row{"ntp.feed", same<&Settings::ntp_feed>},
    Row{"groups.users", same<&Settings::group_users>},
    Row{"vip.group", same_vip<&config::VipSettings::group>},
    Row{"vip.interface", same_vip<&config::VipSettings::interface>},
    Row{"vip.addresses", same_vip<&config::VipSettings::addresses>},
    Row{"vip.weight", same_vip<&config::VipSettings::weight>},
    Row{"vip.min-stay-ms", same_vip<&config::VipSettings::min_stay>},
    Row{"vip.announcements", same_vip<&config::VipSettings::announcements>},
    Row{"vip.check", same_vip<&config::VipSettings::check>},
    Row{"vip.check-interval-ms", same_vip<&config::VipSettings::check_interval>},
    Row{"timers.adjtime-ms", same_timer<&Timing::adjtime>, take_timer<&Timing::adjtime>,
        write_timer<&Timing::adjtime>, same_liveness, kLiveness},
    Row{"timers.loop-ms", same_timer<&Timing::loop>, take_timer<&Timing::loop>,
        write_timer<&Timing::loop>, same_liveness, kLiveness},
    Row{"timers.election-min-ms", same_timer<&Timing::election_min>,
        take_timer<&Timing::election_min>, write_timer<&Timing::election_min>, same_liveness,
        kLiveness},
    Row{"timers.election-max-ms", same_timer<&Timing::election_max>,
        take_timer<&Timing::election_max>, write_timer<&Timing::election_max>, same_liveness,
        kLiveness},
    Row{"timers.startup-ms", same_timer<&Timing::startup>, take_timer<&Timing::startup>,
        write_timer<&Timing::startup>, same_liveness, kLiveness},
    Row{"timers.no-master-ms", same_timer<&Timing::no_master>, take_timer<&Timing::no_master>,
        write_timer<&Timing::no_master>, same_liveness, kLiveness},
    Row{"timers.candidate-ms", same_timer<&Timing::candidate>, take_timer<&Timing::candidate>,
        write_timer<&Timing::candidate>, same_liveness, kLiveness},
    Row{"timers.accept-ms", same_timer<&Timing::accept>, take_timer<&Timing::accept>,
        write_timer<&Timing::accept>, same_liveness, kLiveness},
    Row{"timers.consistency-ms", same_timer<&Timing::consistency>, take_timer<&Timing::consistency>,
        write_timer<&Timing::consistency>, same_liveness, kLiveness},
    Row{"timers.conflict-ms", same_timer<&Timing::conflict>, take_timer<&Timing::conflict>,
        write_timer<&Timing::conflict>, same_liveness, kLiveness},
    Row{"timers.retransmit-ms", same_timer<&Timing::retransmit>, take_timer<&Timing::retransmit>,
        write_timer<&Timing::retransmit>, same_liveness, kLiveness},
    Row{"timers.sends", same_timer<&Timing::sends>, take_timer<&Timing::sends>,
        write_timer<&Timing::sends>, same_liveness, kLiveness},
    Row{"timers.delay-ms", same_timer<&Timing::delay>, take_timer<&Timing::delay>,
        write_timer<&Timing::delay>, same_liveness, kLiveness},
    Row{"timers.loops-per-election", same_timer<&Timing::loops_per_election>,
        take_timer<&Timing::loops_per_election>, write_timer<&Timing::loops_per_election>,
        same_liveness, kLiveness},
    Row{"timers.loops-per-startup", same_timer<&Timing::loops_per_startup>,
        take_timer<&Timing::loops_per_startup>, write_timer<&Timing::loops_per_startup>,
        same_liveness, kLiveness},
    Row{"locks.expect", same<&Settings::lock_expect>, take<&Settings::lock_expect>,
        [](const Settings& settings) { return fmt::format("{}", settings.lock_expect); },
        keeps_locks, "locks begin and end with a start of tempod"},
    Row{"locks.voters", same<&Settings::lock_voters>},
    Row{.key = "locks.lease-ms", .same = same<&Settings::lock_lease>, .why = kLeases},
    Row{.key = "locks.lease-max-ms", .same = same<&Settings::lock_lease_max>, .why = kLeases},
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
      (takes_effect(row, before, after) ? found.now : found.restart).emplace_back(row.key);
  return found;
}

Settings changed(const Settings& before, const Settings& after) {
  Settings settings = before;
  for (const Row& row : kRows)
    if (takes_effect(row, before, after)) row.take(settings, after);
  return settings;
}

std::string_view restart_reason(std::string_view key) {
  const auto* const row = std::ranges::find(kRows, key, &Row::key);
  return row == kRows.end() ? "" : row->why;
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
