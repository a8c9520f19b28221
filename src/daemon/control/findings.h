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
  bool record_lost = false;  // the record is lost, and the voters have not confirmed a new one
  bool agreed = false;       // the voters are known
  std::size_t found = 0;     // before that: machines found, with this one
  std::size_t expected = 0;
  struct Voter {
    std::string id{};
    unsigned votes = 0;
  };
  std::vector<Voter> voters{};
  bool available = false;  // policy = "available": no majority is needed
  // Sentences, which are warnings of the status too; empty: none.
  std::string two_sets{};  // another part of the network has other voters
  std::string clone{};     // two machines have the id of another host
  std::string retired{};   // this host votes no more
  std::string crowded{};   // there are too many machines to agree on voters
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
