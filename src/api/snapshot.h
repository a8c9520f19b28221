// What one daemon knows at one moment, as plain data: made by the daemon, shown by others.
//
// It travels as JSON (one object, doc/reference/control-protocol.md); `to_json` and `from_json` are
// inverse to each other, for finite numbers and UTF-8. Members that are missing keep their defaults
// and unknown ones are passed over, so that neighbouring versions understand each other; a wrong
// type is refused. Everything else about showing (text, tables, metrics) is a pure function of it.
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
  std::string master;     // its name; empty: none known
  std::string master_id;  // 16 hexadecimal digits
  std::uint64_t epoch_round = 0;
  std::uint32_t listed = 0;  // followers on our list, if master
  std::string heir;          // its name, if known
  std::string root;          // name of the host whose time it is
  std::uint32_t hops = 0;
  bool kernel_stamps = false;
  bool hardware_stamps = false;  // the card's

  bool operator==(const NetworkView&) const = default;
};

struct MemberView {
  std::string name;
  std::string id;  // 16 hexadecimal digits
  std::string address;
  std::string role;  // "master", "follower", ...; that it is this host, `self` says
  bool self = false;
  bool faulty = false;  // its clock is not averaged
  double heard_ago_s = 0;
  // Values that it reported to the master; on a follower, its own values. Absent: unknown here.
  std::optional<double> rate_ppm;  // of its raw clock against the master's
  std::optional<double> sigma_us;
  std::optional<double> bound_us;
  std::optional<double> offset_us;  // of its clock against network time

  bool operator==(const MemberView&) const = default;
};

// A group that is known here.
struct GroupView {
  std::string name;
  std::string leader;  // its name; empty: nobody is known to lead
  std::string term;    // the lease's token, a number of 64 bits; "0": nobody has led yet
  bool here = false;   // this machine leads
  std::string state;   // of this machine's part in it
  std::string criterion;
  std::string algorithm;
  std::string held;              // the algorithm that decided last; empty: what was known did
  std::uint32_t candidates = 0;  // this machine's included

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
  bool authenticated = false;  // a key is in use
  std::uint32_t keys = 0;
  std::string clock;         // system, software, none
  std::string status;        // unsynchronized, holdover, synchronized, leads
  std::int64_t time_ns = 0;  // the steered clock, since 1970
  std::int64_t earliest_ns = 0;
  std::int64_t latest_ns = 0;  // earliest and latest are equal extremes when unsynchronized
  double offset_us = 0;        // our clock minus network time, by the last estimate
  double rate_ppm = 0;         // of our clock over the raw one
  std::uint32_t scale = 0;
  std::uint64_t exchanges = 0;
  std::string reference;  // whom the clock follows; empty: nobody
  bool may_lead = true;
  std::string locks;  // what is promised of them, in a sentence; empty: none are set up
  std::vector<std::string> warnings;  // sentences: no key, two machines with one id, ...
  std::vector<NetworkView> networks;
  std::vector<MemberView> members;
  std::vector<GroupView> groups;
  std::map<std::string, std::uint64_t> counters;  // datagrams by name of what became of them

  bool operator==(const Snapshot&) const = default;

  // The clock is off by no more than so many microseconds; nothing while there is no network time.
  std::optional<double> bound_us() const;
};

std::string to_json(const Snapshot& snapshot);       // one line, without a newline
std::string members_json(const Snapshot& snapshot);  // the list alone, as in to_json
Result<Snapshot> from_json(std::string_view text);

// For people.
std::string status_text(const Snapshot& snapshot);
std::string members_text(const Snapshot& snapshot);
std::string micros_text(double us);       // "640 ns", "12.3 us", "1.25 ms", "3.2 s", with its sign
std::string utc_text(std::int64_t ns);    // "2026-11-16 04:38:02.123456789"
std::string uptime_text(double seconds);  // "3 d 4 h", "5 min 6 s"

// Prometheus text format.
std::string metrics_text(const Snapshot& snapshot);

// Every metric there is; the manual page is compared with it.
struct MetricHelp {
  std::string_view name;
  std::string_view type;  // gauge, counter
  std::string_view meaning;
};
std::vector<MetricHelp> all_metrics();

}  // namespace tempo::obs
