// Directory of the known hosts: assigns a NodeId to each HostId, in the order of the HostIds.
//
// Epochs and the choice of an heir compare node numbers, so every node of a network must find the
// same order. A host's number is therefore the top 20 bits of its id, which is a hash and spreads
// evenly over the numbers; if that number is in use, the nearest free one between its neighbours.
// If there is none, or the directory is full, the host is refused. A number is never reassigned.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "base/ids.h"
#include "base/units.h"
#include "protocol/auth/replay_window.h"
#include "protocol/wire/datagram.h"
#include "protocol/wire/name.h"

namespace tempo::wire {

class Directory {
 public:
  static constexpr std::size_t kMaxHosts = 4096;

  struct Host {
    HostId id = kNoHost;
    NodeId node = kNobody;
    Name name;
    // The process that was live last, and the datagrams received from it.
    Incarnation incarnation{};
    Nonce nonce{};
    bool heard = false;                // there was one; false: other hosts only mentioned this one
    Instant last_heard{};              // time of its last datagram
    Instant proved{};                  // time of its last response to a challenge (liveness.h)
    std::uint8_t networks = 0;         // bit n: it has responded over network n
    std::uint32_t changes = 0;         // live processes of this host before it
    std::uint64_t challenge = 0;       // its newest one
    KeyId key = kNoKey;                // seals its newest datagram
    ShortKey other_key = kNoOtherKey;  // the other key that it opens
    auth::ReplayWindow window;
  };

  // The entry of the host, created if it is new; null: refused. The pointer stays valid.
  Host* admit(HostId id);
  // Its number; kNobody: refused.
  NodeId number_of(HostId id) {
    const Host* host = admit(id);
    return host == nullptr ? kNobody : host->node;
  }
  const Host* find(HostId id) const;
  Host* find(HostId id);
  const Host* find(NodeId node) const;
  HostId host_of(NodeId node) const;  // kNoHost: unknown node
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
