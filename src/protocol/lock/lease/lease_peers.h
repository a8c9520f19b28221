// What one lock of a member knows of the others: who waits there, what they ask for, and which of
// their multicasts it heard when. It orders the queue and addresses hand-overs; exclusion does not
// rest on it.
//
// Of so many members as have a place here all waiters stand in one queue. Where more contend for
// one lock, those who have waited longest have the places; the others keep asking and come in
// later.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "machine/fields.h"
#include "protocol/lock/lease/lease_message.h"
#include "protocol/lock/lease/lease_rules.h"

namespace tempo::lock::lease {

inline constexpr std::size_t kMaxPeers = 64;  // other members known of one lock

// Who comes first: the older ticket, of equal ones the lower member.
struct Turnstile {
  std::uint64_t ticket = 0;
  NodeId member = kNobody;
  auto operator<=>(const Turnstile&) const = default;
};

struct Peer {
  NodeId member = kNobody;
  Boot boot{};
  Waiting waiting{};            // by ticket; empty once `fresh_until` has passed
  std::uint32_t waiting_k = 0;  // of the multicast that said so
  Instant fresh_until{};        // F after it was heard
  Nanos fresh_for{0};           // F: by the length of the lease that it wants
  Ballot attempt{};             // of its last ASK for the lease; not known longer than waiters
  Mode attempt_mode = Mode::exclusive;
  Nanos attempt_length{0};
  std::uint32_t attempt_k = 0;
  std::uint32_t heard_k = 0;  // newest multicast heard from itself
  Instant heard_until{};      // r_j + L: later its hour is not known any more

  // Where its first waiter stands: behind everybody if none waits.
  Turnstile first() const;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("member", self.member);
    visit("boot", self.boot);
    field::about(visit, self.member);
    visit("waiting", self.waiting);
    field::their_call(visit, "waiting_k", self.waiting_k);
    visit("fresh_until", self.fresh_until);
    visit("fresh_for", self.fresh_for);
    visit("attempt", self.attempt);
    visit("attempt_mode", self.attempt_mode);
    visit("attempt_length", self.attempt_length);
    field::their_call(visit, "attempt_k", self.attempt_k);
    field::their_call(visit, "heard_k", self.heard_k);
    visit("heard_until", self.heard_until);
  }
};

class Peers {
 public:
  // Who has no place is a peer that was never heard of.
  const Peer& of(NodeId member) const;
  const std::vector<Peer>& all() const { return peers_; }

  // A multicast of `from` itself. What is known of `needed` is not forgotten for it.
  void learn(NodeId from, const Message& message, Instant now, const Rules& rules, NodeId needed);
  // What the giver of a lease knew of others.
  void merge(const Standings& standings, NodeId self, Instant now, const Rules& rules,
             NodeId needed);
  // Those who wait longest.
  Standings standings(NodeId taker) const;

  void served(NodeId member, std::uint64_t ticket);
  void ended(const Ballot& ballot);
  void forget_attempt(NodeId member);
  // `member` granted what was asked at `asked`: had one of its clients been first it would not
  // have.
  void forget_waiters_before(NodeId member, Instant asked, Turnstile first, Mode mode);
  void drop_passed(Instant now);

  bool anybody_waits() const;
  std::uint64_t largest_ticket() const { return largest_ticket_; }
  // Whether somebody other than `asker` waits for X with an older ticket.
  bool writer_before(Turnstile first, NodeId asker) const;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("peers", self.peers_);
    visit("largest_ticket", self.largest_ticket_);
  }

 private:
  Peer* find(NodeId member);
  // Null: there is no place, and nobody to make room for one that stands at `first`.
  Peer* in_boot(NodeId member, Boot boot, Turnstile first, Instant now, NodeId needed);
  bool make_room(Turnstile first, Instant now, NodeId needed);
  void note_tickets(const Waiting& waiting);

  std::vector<Peer> peers_;           // by member, at most kMaxPeers
  std::uint64_t largest_ticket_ = 0;  // seen
};

}  // namespace tempo::lock::lease
