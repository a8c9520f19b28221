// tempod's configuration, checked. Every key has a default, so no file is needed.
//
// The file is TOML (man/tempo.toml.5). All mistakes in it are reported together, each with line,
// column and cure; an unknown key is a mistake. Values from the command line override those of the
// file and pass the same checks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "protocol/election/master_rules.h"

namespace tempo::config {

enum class Mode : std::uint8_t { tempo, classic };               // mode
enum class LockBackEnd : std::uint8_t { tempo, etcd };           // locks.back-end
enum class ClockKind : std::uint8_t { system, software, none };  // clock

// locks.policy: when the two machines of a cluster lose each other
enum class LockPolicy : std::uint8_t { strict, witness, preferred, available };

// kernel-claims: the interval that tempod states to the kernel
enum class KernelClaims : std::uint8_t { network, utc };

// [[utc.source]]: a program on this machine that knows UTC
struct UtcSourceSettings {
  std::string path;           // path: of the socket to which it sends samples
  Nanos error = 1ms;          // error-us: largest error of its samples
  std::uint8_t priority = 9;  // priority: 0 to 9; higher decides when the sources disagree

  bool operator==(const UtcSourceSettings&) const = default;
};
inline constexpr std::size_t kMaxUtcSources = 8;

// [[vip]]: addresses on the leader of a group, for tempo-vip
struct VipSettings {
  std::string group;                   // group
  std::string interface;               // interface
  std::vector<std::string> addresses;  // addresses: with their prefix lengths
  std::int64_t weight = 0;             // weight: the largest of all machines wins
  Nanos min_stay = 30s;                // min-stay-ms
  int announcements = 5;               // announcements: after a take-over
  std::string check;                   // check: command; empty: none
  Nanos check_interval = 1s;           // check-interval-ms

  bool operator==(const VipSettings&) const = default;
};
inline constexpr std::size_t kMaxVips = 8;
inline constexpr std::size_t kMaxNtpServers = 4;

// remote-read: which questions of other members tempod answers (`tempo -H HOST status`)
enum class RemoteRead : std::uint8_t { key, open, off };

struct SoftwareClock {
  Nanos offset{0};    // offset-ms, fractions allowed
  double drift = 0;   // drift-ppm, stored as a fraction: 50 ppm is 50e-6
  double wander = 0;  // wander-ppb-per-sqrt-s, stored as a fraction
  std::uint64_t seed = 0;
};

struct Settings {
  Mode mode = Mode::tempo;                 // mode: the protocol that tempod speaks
  std::vector<std::string> classic_peers;  // classic.peers: addresses; empty: all
  Nanos classic_correction_limit = 1000s;  // classic.correction-limit-ms
  bool classic_setdate = false;            // classic.setdate
  std::string cluster = "tempo";           // cluster: datagrams of other clusters are ignored
  std::string name;                        // name; empty: the host name
  std::string profile = "lan";             // profile: classic, lan, fast
  election::Timing timing{};               // the profile's values, changed by [timers]
  std::uint16_t port = 525;                // port
  std::vector<std::string> interfaces;     // interfaces; empty: all
  std::vector<std::string> peers;          // peers: addresses, for networks without broadcast
  std::vector<std::string> bind;           // bind: local addresses to use instead of interfaces,
                                           // for tests and demonstrations
  std::string broadcast;                   // broadcast: broadcast address, with `bind`; empty: none
  bool ipv6 = false;                       // ipv6: link-local multicast instead of IPv4 broadcast
  bool hardware_stamps = true;             // hardware-stamps: of network cards that have clocks
  std::string key_file = "/etc/tempo/key";  // key-file; no file at the default path: no key
  bool key_file_given = false;              // key-file was set: the file must exist
  bool trusted = false;                     // trusted: the kernel clock has UTC
  bool may_lead = true;                     // may-lead
  std::uint8_t priority = 9;                // priority: 0 to 9; higher is preferred
  ClockKind clock = ClockKind::system;      // clock
  SoftwareClock software{};                 // [software-clock]
  Nanos step_limit = 500ms;                 // step-limit-ms
  Nanos max_delay = 100ms;                  // max-delay-ms
  double drift_allowance = 0.15e-6;         // drift-allowance-ppm, stored as a fraction
  double rate_jump_max = 0;                 // rate-jump-max-ppm, stored as a fraction
  std::optional<Nanos>
      bound_alarm;  // bound-alarm-us: error bound that triggers the hook; unset: never
  std::vector<UtcSourceSettings> utc_sources;          // [[utc.source]]
  KernelClaims kernel_claims = KernelClaims::network;  // kernel-claims
  std::optional<int> tai_offset;  // tai-offset-s: TAI minus UTC, for the kernel; unset: not stated
  std::string clockbound;         // doors.clockbound: path of ClockBound's segment; empty: none
  std::string chrony;             // doors.chrony: path of chronyd's socket; empty: none
  Nanos claims_limit = 1s;        // claims-limit-ms: largest error bound stated to other programs
  std::uint8_t lock_expect = 0;   // locks.expect: number of voters; 0: no locks
  std::vector<std::string> lock_voters{};  // locks.voters: names or ids of the voters; empty: any
  Nanos lock_lease = 2s;                   // locks.lease-ms
  Nanos lock_lease_max{0};                 // locks.lease-max-ms; below lock_lease: lock_lease
  Nanos lock_delay_max = 10ms;             // locks.delay-max-ms: for silent locks
  LockPolicy lock_policy = LockPolicy::strict;  // locks.policy
  std::string lock_policy_host;                 // locks.policy-host: witness or preferred machine
  LockBackEnd lock_back_end = LockBackEnd::tempo;                    // locks.back-end
  std::vector<std::string> etcd_endpoints{"http://127.0.0.1:2379"};  // locks.etcd-endpoints
  std::string etcd_socket = "/run/tempo-etcd/etcd.sock";             // locks.etcd-socket
  std::string etcd_ca_file;    // locks.etcd-ca-file; empty: the system's CA files
  std::string etcd_cert_file;  // locks.etcd-cert-file; empty: none
  std::string etcd_key_file;   // locks.etcd-key-file, set together with it
  std::string node_key_file;   // groups.node-key-file; empty: this machine does not sign
  std::string node_list_file;  // groups.node-list-file, set together with it
  std::vector<std::string> group_users{"tempo-vip"};  // groups.users: may stand, and nothing more
  std::vector<std::string> ntp_listen;   // ntp.listen: addresses of tempo-ntp; empty: all
  std::uint16_t ntp_port = 123;          // ntp.port
  bool ntp_serve = true;                 // ntp.serve
  std::vector<std::string> ntp_servers;  // ntp.servers: upstream servers, at most 4
  std::string ntp_feed;                  // ntp.feed: path of the utc.source that gets their time
  std::vector<VipSettings> vips;         // [[vip]]
  std::string log_level = "info";        // log-level: error, warning, info, debug
  std::string state_dir = "/var/lib/tempo";       // state-dir
  std::string socket = "/run/tempo/tempod.sock";  // socket
  std::string user = "tempo";                // user: to run as when started as root; empty: root
  std::string hook;                          // hook: program called on events; empty: none
  std::string hook_user;                     // hook-user: user of the hook; empty: `user`
  RemoteRead remote_read = RemoteRead::key;  // remote-read
  bool realtime = true;                      // realtime: real-time scheduling and locked memory
  bool system_call_filter = true;            // system-call-filter
  std::string machine_id;                    // machine-id; empty: the host's

  Nanos longest_lease() const { return std::max(lock_lease, lock_lease_max); }
};

struct Mistake {
  std::string where;  // "tempo.toml:3:7", "--port"
  std::string what;   // error message with the cure
};

// The settings in `text`, or all mistakes in it.
std::expected<Settings, std::vector<Mistake>> read_settings(std::string_view text,
                                                            std::string_view file_name);

// The defaults, overridden by the file (`given`: it must exist), overridden by `changes`:
// "key=value" as on the command line. A value is TOML, or a string without quotes.
std::expected<Settings, std::vector<Mistake>> load_settings(
    const std::string& file, bool given, const std::vector<std::string>& changes);

// Every key with its type, default and description; a test compares the manual page with it.
struct KeyHelp {
  std::string_view key;
  std::string_view type;
  std::string_view fallback;
  std::string_view meaning;
};
std::vector<KeyHelp> all_keys();

}  // namespace tempo::config
