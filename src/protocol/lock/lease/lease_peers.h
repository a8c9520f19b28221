// One lock's knowledge of the other members: their waiters, their requests, and when it received
// which of their multicasts. It orders the queue and addresses hand-overs; exclusion does not
// depend on it.
//
// The waiters of up to kMaxPeers members form one queue. If more members contend for a lock, those
// with the oldest waiters have the entries; the others keep asking and enter later.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "machine/fields.h"
#include "protocol/lock/lease/lease_message.h"
#include "protocol/lock/lease/lease_rules.h"

namespace tempo::lock::lease {

inline constexpr std::size_t kMaxPeers = 64;  // other members known for one lock

// Order of waiters: by ticket, then by member.
struct QueuePosition {
  std::uint64_t ticket = 0;
  NodeId member = kNobody;
  auto operator<=>(const QueuePosition&) const = default;
};

struct Peer {
  NodeId member = kNobody;
  Boot boot{};
  Waiting waiting{};            // ordered by ticket; empty once `fresh_until` has passed
  std::uint32_t waiting_k = 0;  // number of the multicast that announced them
  BootTime fresh_until{};       // F after that multicast arrived
  Nanos fresh_for{0};           // F for the length of the lease that it wants
  Ballot attempt{};             // ballot of its last ASK for the lease; expires with the waiters
  Mode attempt_mode = Mode::exclusive;
  Nanos attempt_length{0};
  std::uint32_t attempt_k = 0;
  std::uint32_t heard_k = 0;  // newest multicast received from the member itself
  BootTime heard_until{};     // r_j + L: after that its arrival time is unknown

  // Position of its first waiter; after all others if none waits.
  QueuePosition first() const;

  static constexpr auto fields(auto list) {
    using M = Peer;
    return list(field<&M::member, role::about>("member"), field<&M::boot>("boot"),
                field<&M::waiting>("waiting"), field<&M::waiting_k, role::their_call>("waiting_k"),
                field<&M::fresh_until>("fresh_until"), field<&M::fresh_for>("fresh_for"),
                field<&M::attempt>("attempt"), field<&M::attempt_mode>("attempt_mode"),
                field<&M::attempt_length>("attempt_length"),
                field<&M::attempt_k, role::their_call>("attempt_k"),
                field<&M::heard_k, role::their_call>("heard_k"),
                field<&M::heard_until>("heard_until"));
  }
};

class Peers {
 public:
  // Returns an unknown peer for a member without an entry.
  const Peer& of(NodeId member) const;
  const std::vector<Peer>& all() const { return peers_; }

  // Handles a multicast from `from` itself. Keeps the entry of `needed` when it needs a free entry.
  void learn(NodeId from, const Message& message, BootTime now, const Rules& rules, NodeId needed);
  // Adds what the giver of a lease knew about others.
  void merge(const Standings& standings, NodeId self, BootTime now, const Rules& rules,
             NodeId needed);
  // The members with the oldest waiters.
  Standings standings(NodeId taker) const;

  void served(NodeId member, std::uint64_t ticket);
  void ended(const Ballot& ballot);
  void forget_attempt(NodeId member);
  // `member` granted a request sent at `asked`: it would not have if one of its clients were first.
  void forget_waiters_before(NodeId member, BootTime asked, QueuePosition first, Mode mode);
  void drop_passed(BootTime now);

  bool has_waiters() const;
  std::uint64_t largest_ticket() const { return largest_ticket_; }
  // Whether a member other than `asker` waits for X with an older ticket.
  bool writer_before(QueuePosition first, NodeId asker) const;

  static constexpr auto fields(auto list) {
    return list(field<&Peers::peers_>("peers"), field<&Peers::largest_ticket_>("largest_ticket"));
  }
  friend FieldCheck;

 private:
  Peer* find(NodeId member);
  // Null: no entry is free, and no entry ranks after `first`.
  Peer* in_boot(NodeId member, Boot boot, QueuePosition first, BootTime now, NodeId needed);
  bool evict_one(QueuePosition first, BootTime now, NodeId needed);
  void note_tickets(const Waiting& waiting);

  std::vector<Peer> peers_;           // by member, at most kMaxPeers
  std::uint64_t largest_ticket_ = 0;  // largest ticket seen
};

}  // namespace tempo::lock::lease
