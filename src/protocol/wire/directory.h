// Which hosts there are: each HostId has a NodeId, given out in the order of the HostIds.
//
// Machines compare node numbers (epochs do, and the choice of an heir), and every node of a network
// must find the same order. A host's number is therefore the top of its id, which is a hash and
// spreads evenly over the numbers; where that place is taken, the nearest free one between its
// neighbours. Should there be none, or should all places for hosts be in use, the host is refused.
// Numbers are never given out twice.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "base/ids.h"
#include "base/units.h"
#include "protocol/auth/replay_window.h"
#include "protocol/wire/name.h"

namespace tempo::wire {

class Directory {
 public:
  static constexpr std::size_t kMaxHosts = 4096;

  struct Host {
    HostId id = kNoHost;
    NodeId node = kNobody;
    Name name;
    Incarnation incarnation{};
    bool heard = false;  // not only heard of
    Instant last_heard{};
    auth::ReplayWindow window;
  };

  // The host's entry, made if it is new; null if it is refused. Valid for ever.
  Host* admit(HostId id);
  const Host* find(HostId id) const;
  const Host* find(NodeId node) const;
  HostId host_of(NodeId node) const;  // kNoHost: unknown, or nobody
  std::size_t size() const { return hosts_.size(); }

  // In the order of their numbers.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [id, host] : hosts_) visit(host);
  }

 private:
  std::map<HostId, Host> hosts_;
  std::map<NodeId, Host*> by_node_;
};

}  // namespace tempo::wire
