#include "protocol/lock/lease_peers.h"

#include <algorithm>

namespace tempo::lock::lease {

// A newer life has none of the older one's waiters, attempts and numbers.
Peer& Peers::in_boot(NodeId member, Boot boot) {
  Peer& peer = peers_[index(member)];
  if (peer.boot < boot) peer = Peer{.boot = boot};
  return peer;
}

void Peers::note_tickets(const Waiting& waiting) {
  for (const Waiter& waiter : waiting) largest_ticket_ = std::max(largest_ticket_, waiter.ticket);
}

void Peers::learn(NodeId from, const Message& message, Instant now, const Rules& rules) {
  Peer& peer = in_boot(from, message.boot);
  for (const Ballot& ballot : message.ends) ended(ballot);
  if (message.k > peer.waiting_k) {
    peer.waiting = message.waiting;
    peer.waiting_k = message.k;
    peer.fresh_until = now + rules.fresh();
    note_tickets(message.waiting);
  }
  if (message.k <= peer.heard_k) return;
  peer.heard_k = message.k;
  peer.heard_until = now + rules.lease;
  if (message.kind != Kind::ask) return;
  peer.attempt = message.held ? Ballot{} : message.ballot;
  peer.attempt_mode = message.mode;
  peer.attempt_length = message.length;
  peer.attempt_k = message.k;
}

void Peers::merge(const Standings& standings, NodeId self, Instant now, const Rules& rules) {
  for (const Standing& standing : standings) {
    if (index(standing.member) >= kMostMembers || standing.member == self) continue;
    Peer& peer = in_boot(standing.member, standing.boot);
    if (peer.boot != standing.boot || standing.k <= peer.waiting_k) continue;
    peer.waiting = standing.waiting;
    peer.waiting_k = standing.k;
    peer.fresh_until = now + rules.fresh();
    note_tickets(standing.waiting);
  }
}

Standings Peers::standings(NodeId giver, NodeId taker) const {
  Standings all;
  for (std::uint32_t i = 0; i < kMostMembers; ++i) {
    const Peer& peer = peers_[i];
    if (NodeId{i} == giver || NodeId{i} == taker || peer.waiting_k == 0) continue;
    all.push_back({NodeId{i}, peer.boot, peer.waiting_k, peer.waiting});
  }
  return all;
}

void Peers::served(NodeId member, std::uint64_t ticket) {
  if (index(member) >= kMostMembers) return;
  peers_[index(member)].waiting.erase_if(
      [&](const Waiter& waiter) { return waiter.ticket == ticket; });
}

void Peers::ended(const Ballot& ballot) {
  for (Peer& peer : peers_)
    if (peer.attempt == ballot) peer.attempt = {};
}

void Peers::forget_waiters_before(NodeId member, Instant asked, Turnstile first, Mode mode,
                                  const Rules& rules) {
  Peer& peer = peers_[index(member)];
  if (peer.fresh_until - rules.fresh() > asked) return;
  peer.waiting.erase_if([&](const Waiter& waiter) {
    return conflict(waiter.mode, mode) && Turnstile{waiter.ticket, member} < first;
  });
}

void Peers::drop_passed(Instant now) {
  for (Peer& peer : peers_) {
    if (peer.fresh_until > now) continue;
    peer.waiting.clear();
    peer.attempt = {};
  }
}

bool Peers::anybody_waits() const {
  return std::ranges::any_of(peers_, [](const Peer& peer) { return !peer.waiting.empty(); });
}

bool Peers::writer_before(Turnstile first, NodeId asker) const {
  for (std::uint32_t i = 0; i < kMostMembers; ++i) {
    if (NodeId{i} == asker) continue;
    for (const Waiter& waiter : peers_[i].waiting)
      if (waiter.mode == Mode::exclusive && Turnstile{waiter.ticket, NodeId{i}} < first)
        return true;
  }
  return false;
}

}  // namespace tempo::lock::lease
