// Problems that the daemon finds in its own state and in what other members announce, for `tempo
// doctor`. A pure function: the observations are plain data.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "api/control_protocol.h"
#include "api/snapshot.h"

namespace tempo::daemon {

// A machine whose datagrams were refused within the last ten seconds (refused_peers.h).
struct RefusedPeer {
  std::string address;
  std::string reason;  // name of the wire::DropReason
  double for_s = 0;    // seconds from the first one to the last one
  std::uint64_t count = 0;
};

// State of the locks that the members vote on.
struct LockHealth {
  bool configured = false;   // native locks are configured
  bool split = false;        // another part of the network has other voters
  bool record_lost = false;  // the record is lost and no member has told the voters yet
  bool agreed = false;       // the voters are known
  std::size_t found = 0;     // before that: machines found, with this one
  std::size_t expected = 0;
  struct Voter {
    std::string id{};
    unsigned votes = 0;
  };
  std::vector<Voter> voters{};
  bool available = false;  // policy = "available": no majority is needed
};

struct Observations {
  obs::Snapshot shot{};
  std::vector<RefusedPeer> refused{};
  LockHealth locks{};
  // Sentences; empty: none.
  std::string key_warning{};
  std::string clock_error{};
  std::string incompatible_peer{};
  std::string crowding{};
  std::string network_error{};
  std::string disk_error{};
  std::string send_error{};  // datagrams could not be sent within the last 10 s
  bool duplicate_id = false;
};

std::vector<ipc::Finding> findings_in(const Observations& seen);

}  // namespace tempo::daemon
