// Directory of the known hosts: assigns a NodeId to each HostId, in the order of the HostIds.
//
// Epochs and the choice of an heir compare node numbers, so every node of a network must find the
// same order. A host's number is therefore the top 20 bits of its id, which is a hash and spreads
// evenly over the numbers; if that number is in use, the nearest free one between its neighbours.
// If there is none, the host is refused. Epochs, leases and tables hold numbers, so a number is
// never reassigned: it outlives the entry of its host.
//
// The entries are bounded: for a new host the longest silent one is evicted, hosts that are known
// only for a short time first and voters never. An evicted host returns with its number and has to
// prove itself again. Hosts that others only mention have a small place of their
// own. A member with the key that invents ids can therefore not keep a new host out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "protocol/auth/replay_window.h"
#include "protocol/wire/datagram.h"
#include "protocol/wire/name.h"

namespace tempo::wire {

class Directory {
 public:
  static constexpr std::size_t kMaxHosts = 4096;       // entries of hosts that were heard
  static constexpr std::size_t kMaxMentioned = 256;    // entries of hosts that were only mentioned
  static constexpr std::size_t kMaxNumbers = 1 << 16;  // of all hosts ever heard or mentioned
  static constexpr std::size_t kMaxMentionedNumbers = 4096;  // of hosts that were never heard
  static constexpr std::size_t kEvictedAtOnce = 64;
  // A host that has proved itself for this time is evicted after all others.
  static constexpr Nanos kEstablishedAfter = 30s;

  struct Host {
    HostId id = kNoHost;
    NodeId node = kNobody;
    Name name;
    // The process that was live last, and the datagrams received from it.
    Incarnation incarnation{};
    Nonce nonce{};
    Incarnation earlier{};  // the process that was live before that one; nonce 0: none
    Nonce earlier_nonce{};
    // Times that the earlier process was live again. A process that was replaced never returns: two
    // machines have this id.
    std::uint32_t returns = 0;
    bool heard = false;                // there was one; false: other hosts only mentioned this one
    bool pinned = false;               // never evicted
    bool votes = false;                // not evicted while it is a voter
    Instant since{};                   // time of the first datagram of this process
    Instant last_heard{};              // time of its last datagram
    Instant proved{};                  // time of its last response to a challenge (liveness.h)
    std::uint8_t networks = 0;         // bit n: it has responded over network n
    std::uint32_t changes = 0;         // live processes of this host, and evictions, before it
    std::uint64_t challenge = 0;       // its newest one
    KeyId key = kNoKey;                // seals its newest datagram
    ShortKey other_key = kNoOtherKey;  // the other key that it opens
    std::uint8_t revision = 0;         // of the wire format in its newest datagram; 0: none yet
    auth::ReplayWindow window;
  };

  // The entry of a host that is live, for this process; null: it has no number. It stays valid
  // until another host is heard.
  Host* hear(Instant now, HostId id, Incarnation incarnation, Nonce nonce);
  // Whether `hear` would return an entry.
  bool can_hear(HostId id) const;
  // The entry of a host that was mentioned, created if it is new; null: it has no number. It stays
  // valid until another host is mentioned or heard.
  Host* admit(HostId id);
  // Its number; kNobody: it has none.
  NodeId number_of(HostId id);
  // Replaces the voters, which are never evicted.
  void set_voters(std::span<const HostId> voters);

  const Host* find(HostId id) const;
  Host* find(HostId id);
  const Host* find(NodeId node) const;
  HostId host_of(NodeId node) const;  // also of an evicted host; kNoHost: unknown node
  std::uint32_t changes_of(HostId id) const;
  std::size_t size() const { return hosts_.size(); }

  std::uint64_t evicted() const { return evicted_; }    // entries of hosts that were heard
  Instant last_evicted() const { return evicted_at_; }  // valid if `evicted` > 0
  // The numbers of the hosts that the last eviction removed; each eviction is returned once.
  std::vector<NodeId> take_evicted();

  // In the order of their numbers.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [id, host] : hosts_) visit(host);
  }

 private:
  struct Number {
    NodeId node = kNobody;
    std::uint32_t changes = 0;  // as in Host; valid while the host has no entry
    bool heard = false;         // counts as one of a host that was heard
  };

  static bool kept(const Host& host) { return host.pinned || host.votes; }
  std::optional<NodeId> free_number(HostId id) const;
  Number* assign(HostId id, bool heard);
  Host& insert(HostId id, const Number& number);
  void erase(HostId id);
  void make_room(Instant now);
  void forget_oldest_mentioned();

  std::map<HostId, Number> numbers_;  // at most kMaxNumbers
  std::map<NodeId, HostId> ids_;      // the same hosts
  std::map<HostId, Host> hosts_;
  std::deque<HostId> mentioned_;       // the entries that were not heard; oldest first
  std::size_t heard_ = 0;              // entries that were
  std::size_t mentioned_numbers_ = 0;  // of hosts never heard
  std::vector<HostId> voters_;
  std::vector<NodeId> newly_evicted_;  // at most kEvictedAtOnce
  std::uint64_t evicted_ = 0;
  Instant evicted_at_{};
};

}  // namespace tempo::wire
