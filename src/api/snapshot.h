// The state of a daemon at one moment, as plain data: made by the daemon, shown by other programs.
//
// It is sent as JSON (one object, doc/reference/control-protocol.md). `to_json` and `from_json` are
// inverse to each other, for finite numbers and UTF-8. Missing members keep their defaults and
// unknown ones are ignored, so that neighbouring versions work together; a wrong type is refused.
// Text, tables and metrics (api/metrics.h) are pure functions of the snapshot.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tempo::obs {

struct NetworkView {
  std::string name;       // "eth0", "peers"
  std::string state;      // of the election: "master", "follower", ...
  std::string master;     // name of the master; empty: none known
  std::string master_id;  // 16 hexadecimal digits
  std::uint64_t epoch_round = 0;
  std::uint32_t listed = 0;      // on a master: number of followers on its list
  std::string heir;              // name of the heir; empty: none known
  std::string root;              // name of the host that is the source of time; empty: none known
  std::uint32_t hops = 0;        // networks between this host and the source of time
  bool kernel_stamps = false;    // the kernel timestamps datagrams
  bool hardware_stamps = false;  // the network card timestamps datagrams

  bool operator==(const NetworkView&) const = default;
};

inline constexpr std::string_view kNoKeyName = "no key";  // in place of the id of a key

struct MemberView {
  std::string name;
  std::string id;  // 16 hexadecimal digits
  std::string address;
  std::string role;        // "master", "follower", ...
  bool self = false;       // this host
  bool faulty = false;     // the master excludes its clock from the average
  double heard_ago_s = 0;  // seconds since its last datagram
  // up; silent: not heard for three announcements; stopped: it has announced that it stops; gone:
  // neither heard nor announced for an hour.
  std::string state{};
  bool only_mentioned = false;  // never heard here; another member knows it
  // What the member announces; unset or empty: it has announced nothing.
  std::string status{};              // of its clock, as in Snapshot
  std::optional<double> uptime_s{};  // of its tempod, when it was heard last
  std::uint32_t revision = 0;        // of its wire format; 0: unknown
  std::string version{};
  std::string profile{};
  std::string timers{};  // fingerprint of its timers: equal timers have the same
  std::uint32_t expect = 0;
  double lease_ms = 0;
  double lease_max_ms = 0;
  std::optional<std::uint32_t> hears{};  // other members that it hears
  // Seconds for which it has not heard this host; unset: it hears it, or is not heard itself.
  std::optional<double> misses_this_host_s{};
  std::string seals{};  // id of the key that sealed its last datagram, or kNoKeyName
  // The keys that it opens, ids or kNoKeyName. Of a key that this host does not have only the first
  // four digits of the id are known.
  std::vector<std::string> opens{};
  // On the master, as the member reported it; on a follower, as known there; unset: unknown.
  std::optional<double> rate_ppm;   // of its raw clock against the master's
  std::optional<double> sigma_us;   // scatter of its measurements
  std::optional<double> bound_us;   // largest error of its clock
  std::optional<double> offset_us;  // of its clock against network time

  bool operator==(const MemberView&) const = default;
};

// A group as known on this host.
struct GroupView {
  std::string name;
  std::string leader;  // name of the leader; empty: none known
  std::string term;    // token of the lease, a 64-bit number; "0": no leader so far
  bool here = false;   // this machine leads
  std::string state;   // of this machine in the group
  std::string criterion;
  std::string algorithm;
  std::string held;              // algorithm that decided last; empty: decided without an election
  std::uint32_t candidates = 0;  // including this machine's

  bool operator==(const GroupView&) const = default;
};

struct Snapshot {
  std::string version;
  std::string name;
  std::string id;
  std::string cluster;
  std::uint32_t pid = 0;
  double uptime_s = 0;
  std::string profile;
  bool authenticated = false;  // datagrams without a key are refused
  std::uint32_t keys = 0;      // valid keys
  std::string sealing_key;     // id of the key that seals, or kNoKeyName
  std::string opening_key;     // id of the other key, or kNoKeyName; empty: there is none
  std::string key_change;      // last step of a key change: "added", "promoted"; empty: none
  double keys_since_s = 0;     // seconds since these keys are in use
  // Confinement in force in the process that answers.
  std::string user;                       // name of its user
  std::vector<std::string> capabilities;  // effective ones: "sys_time", "net_bind_service"
  bool system_call_filter = false;        // a system call filter is loaded
  std::string clock;                      // system, software, none
  std::string status;        // name of the status of its reading (doc/reference/time.md)
  std::int64_t time_ns = 0;  // the steered clock, since 1970
  std::int64_t earliest_ns = 0;
  std::int64_t latest_ns = 0;  // earliest and latest are equal extremes when unsynchronized
  // What the error bound consists of, on a follower; the sum of all but the age is the bound.
  std::optional<double> bound_age_s{};          // time since the newest exchange
  std::optional<double> bound_round_trip_us{};  // what the exchanges leave open
  std::optional<double> bound_drift_us{};       // what the clocks may have drifted since
  std::optional<double> bound_reference_us{};   // error bound of the reference's own time
  std::optional<double> bound_other_us{};       // holdover, objections, a correction under way
  std::optional<double> utc_bound_us{};         // of the UTC that this machine carries; unset: none
  std::optional<std::uint32_t> view_members{};  // machines that vote on the main part; unset: one
  double offset_us = 0;                    // this clock minus network time, by the last estimate
  double rate_ppm = 0;                     // of this clock over the raw clock
  std::uint32_t timescale_generation = 0;  // number of times that network time was set by hand
  std::uint64_t exchanges = 0;
  std::string reference;  // name of the host that the clock follows; empty: none
  bool may_lead = true;
  std::string locks;  // state of locking, in a sentence; empty: locks are not configured
  std::vector<std::string> warnings;  // sentences: no key, two machines with one id, ...
  std::vector<NetworkView> networks;
  std::vector<MemberView> members;
  std::vector<GroupView> groups;
  std::map<std::string, std::uint64_t> counters;  // datagrams by outcome

  bool operator==(const Snapshot&) const = default;

  // Largest error of the clock, in microseconds; unset: no network time.
  std::optional<double> bound_us() const;
};

std::string to_json(const Snapshot& snapshot);       // one line, without the newline
std::string members_json(const Snapshot& snapshot);  // the list of members alone
Result<Snapshot> from_json(std::string_view text);

// Text for people.
std::string status_text(const Snapshot& snapshot);
std::string members_text(const Snapshot& snapshot);
std::string micros_text(double us);       // "640 ns", "12.3 us", "1.25 ms", "3.2 s", with its sign
std::string utc_text(std::int64_t ns);    // "2026-11-16 04:38:02.123456789"
std::string uptime_text(double seconds);  // "3 d 4 h", "5 min 6 s"

}  // namespace tempo::obs
