// What one lock of a member knows of the others: who waits there, what they ask for, and which of
// their multicasts it heard when. It orders the queue and addresses hand-overs; exclusion does not
// rest on it.
#pragma once

#include <array>
#include <cstdint>

#include "base/fields.h"
#include "base/units.h"
#include "protocol/lock/lease_message.h"
#include "protocol/lock/lease_rules.h"

namespace tempo::lock::lease {

// Who comes first: the older ticket, of equal ones the lower member.
struct Turnstile {
  std::uint64_t ticket = 0;
  NodeId member = kNobody;
  auto operator<=>(const Turnstile&) const = default;
};

struct Peer {
  Boot boot{};
  Waiting waiting{};            // by ticket; empty once `fresh_until` has passed
  std::uint32_t waiting_k = 0;  // of the multicast that said so
  Instant fresh_until{};        // F after it was heard
  Ballot attempt{};             // of its last ASK for the lease; not known longer than waiters
  Mode attempt_mode = Mode::exclusive;
  Nanos attempt_length{0};
  std::uint32_t attempt_k = 0;
  std::uint32_t heard_k = 0;  // newest multicast heard from itself
  Instant heard_until{};      // r_j + L: later its hour is not known any more

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    visit("boot", self.boot);
    visit("waiting", self.waiting);
    field::their_call(visit, "waiting_k", self.waiting_k);
    visit("fresh_until", self.fresh_until);
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
  const Peer& of(NodeId member) const { return peers_[index(member)]; }

  // A multicast of `from` itself.
  void learn(NodeId from, const Message& message, Instant now, const Rules& rules);
  // What the giver of a lease knew of others.
  void merge(const Standings& standings, NodeId self, Instant now, const Rules& rules);
  Standings standings(NodeId giver, NodeId taker) const;

  void served(NodeId member, std::uint64_t ticket);
  void ended(const Ballot& ballot);
  void forget_attempt(NodeId member) { peers_[index(member)].attempt = {}; }
  // `member` granted what was asked at `asked`: had one of its clients been first it would not
  // have.
  void forget_waiters_before(NodeId member, Instant asked, Turnstile first, Mode mode,
                             const Rules& rules);
  void drop_passed(Instant now);

  bool anybody_waits() const;
  std::uint64_t largest_ticket() const { return largest_ticket_; }
  // Whether somebody other than `asker` waits for X with an older ticket.
  bool writer_before(Turnstile first, NodeId asker) const;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& visit) {
    for (std::uint32_t i = 0; i < kMostMembers; ++i) {
      field::about(visit, NodeId{i});
      visit("peer", self.peers_[i]);
    }
    visit("largest_ticket", self.largest_ticket_);
  }

 private:
  Peer& in_boot(NodeId member, Boot boot);
  void note_tickets(const Waiting& waiting);

  std::array<Peer, kMostMembers> peers_;
  std::uint64_t largest_ticket_ = 0;  // seen
};

}  // namespace tempo::lock::lease
