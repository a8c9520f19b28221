#include "api/config_keys.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/core.h>

#include "api/config_errors.h"
#include "base/closest.h"

namespace tempo::config {
namespace {

using Texts = std::vector<std::string>;

constexpr double kDayMs = 86'400'000;

Nanos from_ms(double ms) { return Nanos{std::llround(ms * 1e6)}; }

// --- setters ---

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

// The source of UTC that is being read: the last one, or the first.
UtcSourceSettings& utc_source(Settings& settings) {
  if (settings.utc_sources.empty()) settings.utc_sources.emplace_back();
  return settings.utc_sources.back();
}

// The [[vip]] that is being read: the last one, or the first.
VipSettings& vip(Settings& settings) {
  if (settings.vips.empty()) settings.vips.emplace_back();
  return settings.vips.back();
}

Key text_key(std::string_view key, std::string_view fallback, std::string_view meaning,
             void (*put)(Settings&, const Value&), CheckResult (*check)(const Value&),
             std::string_view type = "a string") {
  return {{key, type, fallback, meaning}, Kind::text, 0, 0, put, check};
}
Key list_key(std::string_view key, std::string_view type, std::string_view meaning,
             void (*put)(Settings&, const Value&), CheckResult (*check)(const Value&)) {
  return {{key, type, "[]", meaning}, Kind::list, 0, 0, put, check};
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
      text_key(
          "mode", "\"tempo\"",
          "Protocol: tempo, or classic (TSP version 1, with the time daemons of 4.3BSD; without "
          "authentication, locks and groups)",
          [](Settings& settings, const Value& value) {
            for (const auto& [name, mode] : kModes)
              if (name == std::get<std::string>(value)) settings.mode = mode;
          },
          bad_mode, "one of \"tempo\", \"classic\""),
      text_key("cluster", "\"tempo\"", "Cluster name; datagrams of other clusters are ignored",
               put_text<&Settings::cluster>, bad_cluster),
      text_key("name", "the host name", "Name announced to other members; \"\": the host name",
               put_text<&Settings::name>, bad_host_name, "a host name"),
      text_key("profile", "\"lan\"",
               "Timer profile: classic (the values of 4.3BSD), lan, or fast (replaces a silent "
               "master within some tens of milliseconds); must be equal on all machines",
               put_text<&Settings::profile>, bad_profile, "one of \"classic\", \"lan\", \"fast\""),
      {{"port", "a whole number from 1 to 65535", "525", "UDP port; must be equal on all machines"},
       Kind::whole,
       1,
       65535,
       [](Settings& settings, const Value& value) {
         settings.port = static_cast<std::uint16_t>(std::get<std::int64_t>(value));
       },
       nullptr},
      list_key("interfaces", "a list of interface names",
               "Network interfaces to use; empty: all that are up and can broadcast",
               put_list<&Settings::interfaces>, bad_interfaces),
      list_key("peers", "a list of addresses",
               "Addresses of other machines, for networks without broadcast",
               put_list<&Settings::peers>, bad_addresses),
      list_key("bind", "a list of addresses",
               "Local addresses to use instead of interfaces, for tests and demonstrations",
               put_list<&Settings::bind>, bad_addresses),
      text_key("broadcast", "none", "Broadcast address; only together with bind",
               put_text<&Settings::broadcast>, bad_broadcast, "an address"),
      flag_key("ipv6", "false", "Use IPv6 link-local multicast instead of IPv4 broadcast",
               put_flag<&Settings::ipv6>),
      flag_key("hardware-stamps", "true",
               "Use hardware timestamps of network cards that have clocks",
               put_flag<&Settings::hardware_stamps>),
      text_key(
          "key-file", "\"/etc/tempo/key\"",
          "File with the cluster keys, written by 'tempo keygen'; \"\", or no file at the default "
          "path: no key",
          [](Settings& settings, const Value& value) {
            settings.key_file = std::get<std::string>(value);
            settings.key_file_given = true;
          },
          bad_path_or_none, "an absolute path"),
      flag_key("trusted", "false",
               "GPS, PTP or NTP sets this machine's clock, and network time follows it; needs "
               "clock = \"none\"",
               put_flag<&Settings::trusted>),
      flag_key("may-lead", "true", "Whether this machine may become master",
               put_flag<&Settings::may_lead>),
      {{"priority", "a whole number from 0 to 9", "9",
        "Machines with a higher priority are preferred as master"},
       Kind::whole,
       0,
       9,
       [](Settings& settings, const Value& value) {
         settings.priority = static_cast<std::uint8_t>(std::get<std::int64_t>(value));
       },
       nullptr},
      text_key(
          "clock", "\"system\"",
          "Clock to steer: system (the kernel clock), software (a clock inside tempod) or none "
          "(measure only)",
          [](Settings& settings, const Value& value) {
            for (const auto& [name, kind] : kClocks)
              if (name == std::get<std::string>(value)) settings.clock = kind;
          },
          bad_clock, "one of \"system\", \"software\", \"none\""),
      {{"step-limit-ms", "a number from 0.001 to 86400000", "500",
        "Largest offset that is slewed, in milliseconds; larger offsets are stepped"},
       Kind::number,
       0.001,
       kDayMs,
       [](Settings& settings, const Value& value) {
         settings.step_limit = from_ms(std::get<double>(value));
       },
       nullptr},
      {{"max-delay-ms", "a number from 0.001 to 86400000", "100",
        "Exchanges with a longer round trip are not used, in milliseconds: they neither step nor "
        "synchronize the clock"},
       Kind::number,
       0.001,
       kDayMs,
       [](Settings& settings, const Value& value) {
         settings.max_delay = from_ms(std::get<double>(value));
       },
       nullptr},
      {{"drift-allowance-ppm", "a number from 0.01 to 200", "0.15",
        "Error of a measured frequency that the error bound allows for in addition to the error "
        "that the measurements show; 1 where the temperature changes suddenly"},
       Kind::number,
       0.01,
       200,
       [](Settings& settings, const Value& value) {
         settings.drift_allowance = std::get<double>(value) * 1e-6;
       },
       nullptr},
      {{"rate-jump-max-ppm", "a number from 0 to 200", "0",
        "Largest sudden change of the frequency of this machine's clock that the error bound "
        "allows for before exchanges show it; a larger value widens the bound"},
       Kind::number,
       0,
       200,
       [](Settings& settings, const Value& value) {
         settings.rate_jump_max = std::get<double>(value) * 1e-6;
       },
       nullptr},
      {{"bound-alarm-us", "a number from 0.001 to 86400000000", "none",
        "Call the hook when the error bound exceeds this value, in microseconds"},
       Kind::number,
       0.001,
       kDayMs * 1000,
       [](Settings& settings, const Value& value) {
         settings.bound_alarm = from_ms(std::get<double>(value) / 1000);
       },
       nullptr},
      {{"claims-limit-ms", "a number from 0.001 to 86400000", "1000",
        "Largest error bound, in milliseconds, with which the kernel, NTP and other programs get "
        "synchronized time"},
       Kind::number,
       0.001,
       kDayMs,
       [](Settings& settings, const Value& value) {
         settings.claims_limit = from_ms(std::get<double>(value));
       },
       nullptr},
      text_key(
          "kernel-claims", "\"network\"",
          "With clock = \"system\", the error bound that tempod states to the kernel: that of "
          "network "
          "time, or that of UTC, without which the kernel stays unsynchronized",
          [](Settings& settings, const Value& value) {
            for (const auto& [name, claims] : kKernelClaims)
              if (name == std::get<std::string>(value)) settings.kernel_claims = claims;
          },
          bad_kernel_claims, "one of \"network\", \"utc\""),
      {{"tai-offset-s", "a whole number from 0 to 1000", "none",
        "TAI minus UTC, in seconds, that tempod states to the kernel with clock = \"system\"; 37 "
        "since 2017"},
       Kind::whole,
       0,
       1000,
       [](Settings& settings, const Value& value) {
         settings.tai_offset = static_cast<int>(std::get<std::int64_t>(value));
       },
       nullptr},
      text_key("log-level", "\"info\"", "Minimum log level", put_text<&Settings::log_level>,
               bad_log_level, "one of \"error\", \"warning\", \"info\", \"debug\""),
      text_key(
          "state-dir", "\"/var/lib/tempo\"",
          "Directory for the state that survives restarts: incarnation, clock rate, lock voters",
          put_text<&Settings::state_dir>, bad_path, "an absolute path"),
      text_key("socket", "\"/run/tempo/tempod.sock\"", "Unix socket for control requests",
               put_text<&Settings::socket>, bad_socket, "an absolute path"),
      text_key("user", "\"tempo\"", "User to run as when started as root; \"\": stay root",
               put_text<&Settings::user>, bad_text),
      text_key("hook", "none", "Program to call on events, see tempod(8); \"\": none",
               put_text<&Settings::hook>, bad_path_or_none, "an absolute path"),
      text_key("hook-user", "user",
               "User to run the hook as when tempod was started as root; \"\": the value of user",
               put_text<&Settings::hook_user>, bad_text),
      text_key(
          "remote-read", "\"key\"",
          "Questions of other members that tempod answers, for 'tempo -H HOST status'. key: only "
          "if "
          "datagrams without a key are refused; open: always; off: none",
          [](Settings& settings, const Value& value) {
            for (const auto& [name, read] : kRemoteReads)
              if (name == std::get<std::string>(value)) settings.remote_read = read;
          },
          bad_remote_read, "one of \"key\", \"open\", \"off\""),
      flag_key("realtime", "true", "Request real-time scheduling and lock memory",
               put_flag<&Settings::realtime>),
      flag_key("system-call-filter", "true",
               "Restrict the worker to the system calls that it needs; false: for kernels without "
               "seccomp",
               put_flag<&Settings::system_call_filter>),
      text_key("machine-id", "the host's",
               "Machine id from which the host id is derived, for several tempods on one host",
               put_text<&Settings::machine_id>, bad_text),

      timer_key("timers.adjtime-ms", "Interval between synchronization rounds, in milliseconds",
                put_timer<&Timing::adjtime>),
      timer_key("timers.loop-ms", "Interval between beacons of the master, in milliseconds",
                put_timer<&Timing::loop>),
      timer_key("timers.election-min-ms",
                "Minimum election timeout, in milliseconds: time without a beacon before a "
                "follower calls "
                "an election",
                put_timer<&Timing::election_min>),
      timer_key("timers.election-max-ms", "Maximum election timeout, in milliseconds",
                put_timer<&Timing::election_max>),
      timer_key("timers.startup-ms",
                "Time a starting machine waits for an answer of a master, in milliseconds",
                put_timer<&Timing::startup>),
      timer_key("timers.no-master-ms",
                "Time it then listens before it becomes master, in milliseconds",
                put_timer<&Timing::no_master>),
      timer_key(
          "timers.candidate-ms",
          "Time without a further vote after which a candidate becomes master, in milliseconds",
          put_timer<&Timing::candidate>),
      timer_key("timers.accept-ms", "Time for which a vote binds, in milliseconds",
                put_timer<&Timing::accept>),
      timer_key("timers.consistency-ms",
                "Time a new member listens for a second master, in milliseconds",
                put_timer<&Timing::consistency>),
      timer_key("timers.conflict-ms",
                "Time a master collects the answers of other masters, in milliseconds",
                put_timer<&Timing::conflict>),
      timer_key("timers.retransmit-ms",
                "Time to the first retransmission of a message, in milliseconds; doubles each time",
                put_timer<&Timing::retransmit>),
      {{"timers.sends", "a whole number from 1 to 16", "the profile's",
        "Maximum number of sends of a message before its receiver counts as gone"},
       Kind::whole,
       1,
       16,
       put_count<&Timing::sends>,
       nullptr},
      timer_key("timers.delay-ms", "Largest delay of a datagram, in milliseconds",
                put_timer<&Timing::delay>),
      {{"timers.loops-per-election", "a whole number from 0 to 1000", "the profile's",
        "Beacon intervals that the minimum election timeout must exceed"},
       Kind::whole,
       0,
       1000,
       put_count<&Timing::loops_per_election>,
       nullptr},
      {{"timers.loops-per-startup", "a whole number from 0 to 1000", "the profile's",
        "Beacon intervals that a start lasts, plus the delay"},
       Kind::whole,
       0,
       1000,
       put_count<&Timing::loops_per_startup>,
       nullptr},

      list_key("classic.peers", "a list of addresses",
               "Addresses of the hosts that tempod listens to in classic mode; empty: every host "
               "of its networks",
               put_list<&Settings::classic_peers>, bad_addresses),
      {{"classic.correction-limit-ms", "a number from 0.001 to 86400000", "1000000",
        "Largest correction that another host may cause in classic mode, in milliseconds; a larger "
        "one is refused"},
       Kind::number,
       0.001,
       kDayMs,
       [](Settings& settings, const Value& value) {
         settings.classic_correction_limit = from_ms(std::get<double>(value));
       },
       nullptr},
      flag_key("classic.setdate", "false",
               "Whether any host may set the time with Setdate in classic mode",
               put_flag<&Settings::classic_setdate>),

      {{"locks.expect", "a whole number from 0 to 8", "0",
        "Number of lock voters, equal on all machines; 0: 'tempo configure expect' chooses them"},
       Kind::whole,
       0,
       8,
       [](Settings& settings, const Value& value) {
         settings.lock_expect = static_cast<std::uint8_t>(std::get<std::int64_t>(value));
       },
       nullptr},
      {{"locks.voters", "a list of names", "none",
        "Names or ids of the first voters, equal on all machines; needed when there are twice as "
        "many machines as voters, or more. Without 'expect' it gives their number too"},
       Kind::list,
       0,
       0,
       put_list<&Settings::lock_voters>,
       bad_voters},
      {{"locks.lease-ms", "a number from 40 to 60000", "2000",
        "Lease time of a lock, in milliseconds: others wait this long if its holder dies; equal on "
        "all machines"},
       Kind::number,
       40,
       60'000,
       [](Settings& settings, const Value& value) {
         settings.lock_lease = from_ms(std::get<double>(value));
       },
       nullptr},
      {{"locks.lease-max-ms", "a number from 40 to 600000", "lease-ms",
        "Longest lease that a client may request, in milliseconds; a restarted machine votes on no "
        "lock for this long; equal on all machines"},
       Kind::number,
       40,
       600'000,
       [](Settings& settings, const Value& value) {
         settings.lock_lease_max = from_ms(std::get<double>(value));
       },
       nullptr},
      {{"locks.delay-max-ms", "a number from 1 to 1000", "10",
        "Longest delay of a datagram and longest pause of a machine, in milliseconds; within it "
        "silent locks treat silence as consent"},
       Kind::number,
       1,
       1000,
       [](Settings& settings, const Value& value) {
         settings.lock_delay_max = from_ms(std::get<double>(value));
       },
       nullptr},
      text_key(
          "locks.policy", "\"strict\"",
          "Two-machine clusters, when the machines lose each other. strict: locking stops; "
          "witness: "
          "a third machine decides; preferred: policy-host continues; available: both continue "
          "(UNSAFE)",
          [](Settings& settings, const Value& value) {
            for (const auto& [name, policy] : kPolicies)
              if (name == std::get<std::string>(value)) settings.lock_policy = policy;
          },
          bad_policy, "one of \"strict\", \"witness\", \"preferred\", \"available\""),
      text_key("locks.policy-host", "none", "Name of the witness or of the preferred machine",
               put_text<&Settings::lock_policy_host>, bad_text),

      text_key(
          "locks.back-end", "\"tempo\"",
          "Lock back end: tempo (the voters), or etcd (an existing etcd cluster, through "
          "tempo-etcd)",
          [](Settings& settings, const Value& value) {
            for (const auto& [name, back_end] : kBackEnds)
              if (name == std::get<std::string>(value)) settings.lock_back_end = back_end;
          },
          bad_back_end, "one of \"tempo\", \"etcd\""),
      {{"locks.etcd-endpoints", "a list of URLs", "[\"http://127.0.0.1:2379\"]",
        "URLs of etcd; if one does not answer, the next is used"},
       Kind::list,
       0,
       0,
       put_list<&Settings::etcd_endpoints>,
       bad_endpoints},
      text_key("locks.etcd-socket", "\"/run/tempo-etcd/etcd.sock\"",
               "Unix socket between tempod and tempo-etcd", put_text<&Settings::etcd_socket>,
               bad_socket, "an absolute path"),
      text_key("locks.etcd-ca-file", "the system's", "CA file used to verify etcd's certificate",
               put_text<&Settings::etcd_ca_file>, bad_path_or_none, "an absolute path"),
      text_key("locks.etcd-cert-file", "none", "Client certificate presented to etcd",
               put_text<&Settings::etcd_cert_file>, bad_path_or_none, "an absolute path"),
      text_key("locks.etcd-key-file", "none", "Private key of the client certificate",
               put_text<&Settings::etcd_key_file>, bad_path_or_none, "an absolute path"),
      text_key(
          "groups.node-key-file", "none",
          "Signing key of this machine, written by 'tempo keygen --node', for elections by B.2",
          put_text<&Settings::node_key_file>, bad_path_or_none, "an absolute path"),
      text_key("groups.node-list-file", "none",
               "Public keys of all signing machines; the same file on all of them",
               put_text<&Settings::node_list_file>, bad_path_or_none, "an absolute path"),

      {{"groups.users", "a list of user names", "[\"tempo-vip\"]",
        "Users beside root and tempod's group whose programs may stand for groups, and nothing "
        "more; names without a user are ignored"},
       Kind::list,
       0,
       0,
       put_list<&Settings::group_users>,
       bad_users},
      text_key(
          "utc.source.path", "none",
          "Unix socket to which a program on this machine sends UTC, in the format of chrony's "
          "SOCK "
          "reference clock",
          [](Settings& settings, const Value& value) {
            utc_source(settings).path = std::get<std::string>(value);
          },
          bad_path, "an absolute path"),
      {{"utc.source.error-us", "a number from 0.001 to 1000000", "1000",
        "Largest error of its samples, in microseconds"},
       Kind::number,
       0.001,
       1e6,
       [](Settings& settings, const Value& value) {
         utc_source(settings).error = from_ms(std::get<double>(value) / 1000);
       },
       nullptr},
      {{"utc.source.priority", "a whole number from 0 to 9", "9",
        "When the sources of UTC disagree without a majority, those of the highest priority "
        "decide"},
       Kind::whole,
       0,
       9,
       [](Settings& settings, const Value& value) {
         utc_source(settings).priority = static_cast<std::uint8_t>(std::get<std::int64_t>(value));
       },
       nullptr},

      text_key("doors.clockbound", "none",
               "Path of the shared memory of ClockBound's clients, usually "
               "/var/run/clockbound/shm0; \"\": none",
               put_text<&Settings::clockbound>, bad_path_or_none, "an absolute path"),
      text_key("doors.chrony", "none",
               "Path of a socket of chronyd ('refclock SOCK'), which gets a sample of network time "
               "each second; \"\": none",
               put_text<&Settings::chrony>, bad_path_or_none, "an absolute path"),

      list_key("ntp.listen", "a list of addresses",
               "Addresses on which tempo-ntp serves NTP; empty: every address of this machine",
               put_list<&Settings::ntp_listen>, bad_addresses),
      {{"ntp.port", "a whole number from 1 to 65535", "123", "UDP port of tempo-ntp"},
       Kind::whole,
       1,
       65535,
       [](Settings& settings, const Value& value) {
         settings.ntp_port = static_cast<std::uint16_t>(std::get<std::int64_t>(value));
       },
       nullptr},

      flag_key("ntp.serve", "true",
               "Whether tempo-ntp answers clients; false: it only asks servers",
               put_flag<&Settings::ntp_serve>),
      list_key("ntp.servers", "a list of addresses",
               "NTP servers, at most 4, that tempo-ntp asks for UTC; needs ntp.feed",
               put_list<&Settings::ntp_servers>, bad_addresses),
      text_key("ntp.feed", "none", "Path of the utc.source that gets their time",
               put_text<&Settings::ntp_feed>, bad_path_or_none, "an absolute path"),

      text_key(
          "vip.group", "none", "Group whose leader has the addresses",
          [](Settings& settings, const Value& value) {
            vip(settings).group = std::get<std::string>(value);
          },
          bad_group, "the name of a group"),
      text_key(
          "vip.interface", "none", "Network interface that gets the addresses",
          [](Settings& settings, const Value& value) {
            vip(settings).interface = std::get<std::string>(value);
          },
          bad_interface, "the name of an interface"),
      list_key(
          "vip.addresses", "a list of addresses with prefix lengths",
          "IPv4 and IPv6 addresses that the leader of the group has; they move together",
          [](Settings& settings, const Value& value) {
            vip(settings).addresses = std::get<Texts>(value);
          },
          bad_prefixed_addresses),
      {{"vip.weight", "a whole number from 0 to 1000000000", "0",
        "The candidate with the largest weight is preferred"},
       Kind::whole,
       0,
       1e9,
       [](Settings& settings, const Value& value) {
         vip(settings).weight = std::get<std::int64_t>(value);
       },
       nullptr},
      {{"vip.min-stay-ms", "a number from 1 to 86400000", "30000",
        "Addresses stay at least this long, in milliseconds, before a machine with a larger weight "
        "gets them"},
       Kind::number,
       1,
       kDayMs,
       [](Settings& settings, const Value& value) {
         vip(settings).min_stay = from_ms(std::get<double>(value));
       },
       nullptr},
      {{"vip.announcements", "a whole number from 1 to 100", "5",
        "Announcements to neighbours after a take-over, over three seconds"},
       Kind::whole,
       1,
       100,
       [](Settings& settings, const Value& value) {
         vip(settings).announcements = static_cast<int>(std::get<std::int64_t>(value));
       },
       nullptr},
      text_key(
          "vip.check", "none",
          "Command; while it fails, this machine gives the addresses up and is no candidate",
          [](Settings& settings, const Value& value) {
            vip(settings).check = std::get<std::string>(value);
          },
          bad_command, "a command"),
      {{"vip.check-interval-ms", "a number from 50 to 3600000", "1000",
        "Time between two runs of the check, in milliseconds"},
       Kind::number,
       50,
       3'600'000,
       [](Settings& settings, const Value& value) {
         vip(settings).check_interval = from_ms(std::get<double>(value));
       },
       nullptr},

      {{"software-clock.offset-ms", "a number from -1000000000 to 1000000000", "0",
        "Initial offset, in milliseconds"},
       Kind::number,
       -1e9,
       1e9,
       [](Settings& settings, const Value& value) {
         settings.software.offset = from_ms(std::get<double>(value));
       },
       nullptr},
      {{"software-clock.drift-ppm", "a number from -10000 to 10000", "0",
        "Rate error of the oscillator, in ppm; positive: too fast"},
       Kind::number,
       -10000,
       10000,
       [](Settings& settings, const Value& value) {
         settings.software.drift = std::get<double>(value) * 1e-6;
       },
       nullptr},
      {{"software-clock.wander-ppb-per-sqrt-s", "a number from 0 to 1000000", "0",
        "Random walk of the rate, in ppb per square root of a second"},
       Kind::number,
       0,
       1e6,
       [](Settings& settings, const Value& value) {
         settings.software.wander = std::get<double>(value) * 1e-9;
       },
       nullptr},
      {{"software-clock.seed", "a whole number from 0 to 9007199254740992", "0",
        "Seed of the random walk"},
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

// The value as error messages show it.
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

std::string_view last_part(std::string_view key) { return key.substr(key.rfind('.') + 1); }

}  // namespace

const Key* find_key(std::string_view name) {
  const auto found = std::ranges::find(keys(), name, [](const Key& key) { return key.help.key; });
  return found == keys().end() ? nullptr : &*found;
}

std::vector<std::string_view> table_names() {
  return {"timers",     "classic", "locks", "groups", "utc",
          "utc.source", "doors",   "ntp",   "vip",    "software-clock"};
}

std::optional<std::size_t> max_of_tables(std::string_view name) {
  if (name == "utc.source") return kMaxUtcSources;
  if (name == "vip") return kMaxVips;
  return std::nullopt;
}

void begin_table(Settings& settings, std::string_view name) {
  if (name == "utc.source") settings.utc_sources.emplace_back();
  if (name == "vip") settings.vips.emplace_back();
}

std::string_view renamed_key(std::string_view name) {
  struct Renamed {
    std::string_view old_name, new_name;
  };
  static constexpr std::array kRenamed{Renamed{"lead-priority", "priority"}};
  const auto* const found = std::ranges::find(kRenamed, name, &Renamed::old_name);
  return found == kRenamed.end() ? std::string_view{} : found->new_name;
}

std::string closest_key(std::string_view name) {
  // A key of the same name in another table comes first.
  for (const Key& key : keys())
    if (last_part(key.help.key) == last_part(name)) return std::string(key.help.key);
  // Other names are compared with and without their table.
  std::vector<std::string_view> known = table_names();
  for (const Key& key : keys()) known.push_back(key.help.key);
  std::vector<std::string_view> candidates = known;
  for (const std::string_view one : known) candidates.push_back(last_part(one));
  const std::size_t index = closest(name, candidates);
  return index == candidates.size() ? "" : std::string(known[index % known.size()]);
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
    return fmt::format("{} must be {}, not {}", key.help.key, key.help.type, shown(value));
  };
  if (value.index() != static_cast<std::size_t>(key.kind)) return refuse();
  if (key.kind == Kind::whole || key.kind == Kind::number) {
    const double number = key.kind == Kind::whole
                              ? static_cast<double>(std::get<std::int64_t>(value))
                              : std::get<double>(value);
    if (!(number >= key.min && number <= key.max)) return refuse();  // also refuses NaN
  }
  if (key.check != nullptr)
    if (const auto error = key.check(value)) return fmt::format("{} {}", key.help.key, *error);
  key.put(settings, value);
  return std::nullopt;
}

}  // namespace tempo::config
