// Everything an operator can set, checked. No file is needed: every value has a default.
//
// A file is TOML (doc: man/tempo.toml.5). All its mistakes are told at once, each with line and
// column and what to write instead; an unknown key is a mistake. Values from the command line come
// after the file's and pass the same checks.
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

enum class LockBackEnd : std::uint8_t { tempo, etcd };  // who keeps the locks
enum class ClockKind : std::uint8_t { system, software, none };

enum class LockPolicy : std::uint8_t { strict, witness, preferred, available };

struct SoftwareClock {
  Nanos offset{0};    // offset-ms, fractions allowed
  double drift = 0;   // drift-ppm, stored as a fraction: 50 ppm is 50e-6
  double wander = 0;  // wander-ppb-per-sqrt-s, stored as a fraction
  std::uint64_t seed = 0;
};

struct Settings {
  std::string cluster = "tempo";  // cluster: networks of other names are not heard
  std::string name;               // name: empty, the host's
  std::string profile = "lan";    // profile: classic, lan, fast
  election::Timing timing{};      // the profile's, with what [timers] changes (adjtime-ms, ...)
  std::uint16_t port = 525;       // port
  std::vector<std::string> interfaces;  // interfaces: empty, all
  std::vector<std::string> peers;       // peers: addresses, for networks without broadcast
  std::vector<std::string> bind;        // bind: addresses to use instead of the interfaces' (with
                                        // broadcast), for tests and demonstrations
  std::string broadcast;        // broadcast: the address that reaches everybody, with `bind`
  bool ipv6 = false;            // ipv6: link-local multicast instead of IPv4 broadcast
  bool hardware_stamps = true;  // hardware-stamps: the cards', where they have clocks
  std::string key_file = "/etc/tempo/key";  // key-file: missing at the default place means no key
  bool key_file_given = false;              // then it must be there
  bool trusted = false;                     // trusted: the kernel's clock carries UTC
  bool may_lead = true;                     // may-lead
  std::uint8_t lead_priority = 9;           // lead-priority: 0 to 9; lower ones let others go first
  ClockKind clock = ClockKind::system;      // clock
  SoftwareClock software{};                 // [software-clock]
  Nanos step_limit = 500ms;                 // step-limit-ms
  std::optional<Nanos> bound_alarm;  // bound-alarm-us: the hook is called when the bound exceeds it
  std::uint8_t lock_expect = 0;      // locks.expect: voters; 0: no locks
  Nanos lock_lease = 2s;             // locks.lease-ms
  Nanos lock_lease_max{0};           // locks.lease-max-ms; less than the lease: the lease
  Nanos lock_delay_max = 10ms;       // locks.delay-max-ms: of silent locks
  LockPolicy lock_policy = LockPolicy::strict;  // locks.policy: when one of two is gone
  std::string lock_policy_host;                 // locks.policy-host: the witness, or the preferred
  LockBackEnd lock_back_end = LockBackEnd::tempo;                    // locks.back-end
  std::vector<std::string> etcd_endpoints{"http://127.0.0.1:2379"};  // locks.etcd-endpoints
  std::string etcd_socket = "/run/tempo-etcd/etcd.sock";             // locks.etcd-socket
  std::string etcd_ca_file;        // locks.etcd-ca-file: empty, the system's
  std::string etcd_cert_file;      // locks.etcd-cert-file, with its key: empty, none
  std::string etcd_key_file;       // locks.etcd-key-file
  std::string node_key_file;       // groups.node-key-file: empty, this machine does not sign
  std::string node_list_file;      // groups.node-list-file, with it
  std::string log_level = "info";  // log-level: error, warning or info
  std::string state_dir = "/var/lib/tempo";       // state-dir
  std::string socket = "/run/tempo/tempod.sock";  // socket
  std::string user = "tempo";  // user: to run as when started as root; "" stays root
  std::string hook;            // hook: a program called on events
  bool realtime = true;        // realtime: ask for that priority, and for locked memory
  std::string machine_id;      // machine-id: instead of the host's, for tests

  Nanos longest_lease() const { return std::max(lock_lease, lock_lease_max); }
};

struct Mistake {
  std::string where;  // "tempo.toml:3:7", "--port"
  std::string what;   // a sentence with the cure
};

// Settings of this text, or every mistake in it.
std::expected<Settings, std::vector<Mistake>> read_settings(std::string_view text,
                                                            std::string_view file_name);

// The defaults, then the file (if it exists; `given` says that it must), then `changes`:
// "key=value" as on the command line, where `key` is the file's and `value` TOML or a bare word.
std::expected<Settings, std::vector<Mistake>> load_settings(
    const std::string& file, bool given, const std::vector<std::string>& changes);

// Every key with its type, default and meaning; man page and --help are made of it and compared.
struct KeyHelp {
  std::string_view key;
  std::string_view type;
  std::string_view fallback;
  std::string_view meaning;
};
std::vector<KeyHelp> all_keys();

}  // namespace tempo::config
