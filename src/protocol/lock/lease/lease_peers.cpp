#include "protocol/lock/lease/lease_peers.h"

#include <algorithm>
#include <limits>

namespace tempo::lock::lease {
namespace {

QueuePosition first_of(NodeId member, const Waiting& waiting) {
  return {waiting.empty() ? std::numeric_limits<std::uint64_t>::max() : waiting.front().ticket,
          member};
}

}  // namespace

QueuePosition Peer::first() const { return first_of(member, waiting); }

const Peer& Peers::of(NodeId member) const {
  static const Peer unknown;
  const auto at = std::ranges::lower_bound(peers_, member, {}, &Peer::member);
  return at != peers_.end() && at->member == member ? *at : unknown;
}

Peer* Peers::find(NodeId member) {
  const auto at = std::ranges::lower_bound(peers_, member, {}, &Peer::member);
  return at != peers_.end() && at->member == member ? &*at : nullptr;
}

// A newer boot has none of the older one's waiters, attempts and numbers.
Peer* Peers::in_boot(NodeId member, Boot boot, QueuePosition first, BootTime now, NodeId needed) {
  Peer* peer = find(member);
  if (peer == nullptr) {
    if (peers_.size() == kMaxPeers && !evict_one(first, now, needed)) return nullptr;
    const auto at = std::ranges::lower_bound(peers_, member, {}, &Peer::member);
    peer = &*peers_.insert(at, Peer{.member = member});
  }
  if (peer->boot < boot) *peer = Peer{.member = member, .boot = boot};
  return peer;
}

// Evicts a long silent member without waiters, otherwise the member with the newest first waiter.
bool Peers::evict_one(QueuePosition first, BootTime now, NodeId needed) {
  auto last = peers_.end();
  for (auto peer = peers_.begin(); peer != peers_.end(); ++peer) {
    if (peer->member == needed) continue;
    if (peer->waiting.empty() && peer->heard_until <= now) {
      peers_.erase(peer);
      return true;
    }
    if (last == peers_.end() || last->first() < peer->first()) last = peer;
  }
  if (last == peers_.end() || last->first() < first) return false;
  peers_.erase(last);
  return true;
}

void Peers::note_tickets(const Waiting& waiting) {
  for (const Waiter& waiter : waiting) largest_ticket_ = std::max(largest_ticket_, waiter.ticket);
}

void Peers::learn(NodeId from, const Message& message, BootTime now, const Rules& rules,
                  NodeId needed) {
  for (const Ballot& ballot : message.ends) ended(ballot);
  Peer* const known = in_boot(from, message.boot, first_of(from, message.waiting), now, needed);
  if (known == nullptr) return;
  Peer& peer = *known;
  if (message.k > peer.waiting_k) {
    peer.waiting = message.waiting;
    peer.waiting_k = message.k;
    peer.fresh_for = rules.fresh(message.length == Nanos{0} ? rules.lease : message.length);
    peer.fresh_until = now + peer.fresh_for;
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

void Peers::merge(const Standings& standings, NodeId self, BootTime now, const Rules& rules,
                  NodeId needed) {
  for (const Standing& standing : standings) {
    if (standing.member == kNobody || standing.member == self) continue;
    Peer* const peer = in_boot(standing.member, standing.boot,
                               first_of(standing.member, standing.waiting), now, needed);
    if (peer == nullptr || peer->boot != standing.boot || standing.k <= peer->waiting_k) continue;
    peer->waiting = standing.waiting;
    peer->waiting_k = standing.k;
    peer->fresh_for = rules.fresh(rules.lease);
    peer->fresh_until = now + peer->fresh_for;
    note_tickets(standing.waiting);
  }
}

Standings Peers::standings(NodeId taker) const {
  InlineVector<const Peer*, kMaxPeers> known;
  for (const Peer& peer : peers_)
    if (peer.member != taker && peer.waiting_k != 0) known.push_back(&peer);
  std::ranges::stable_sort(known, {}, [](const Peer* peer) { return peer->first().ticket; });
  Standings all;
  for (const Peer* peer : known)
    if (!all.full()) all.push_back({peer->member, peer->boot, peer->waiting_k, peer->waiting});
  return all;
}

void Peers::served(NodeId member, std::uint64_t ticket) {
  if (Peer* const peer = find(member))
    peer->waiting.erase_if([&](const Waiter& waiter) { return waiter.ticket == ticket; });
}

void Peers::ended(const Ballot& ballot) {
  for (Peer& peer : peers_)
    if (peer.attempt == ballot) peer.attempt = {};
}

void Peers::forget_attempt(NodeId member) {
  if (Peer* const peer = find(member)) peer->attempt = {};
}

void Peers::forget_waiters_before(NodeId member, BootTime asked, QueuePosition first, Mode mode) {
  Peer* const peer = find(member);
  if (peer == nullptr || peer->fresh_until - peer->fresh_for > asked) return;
  peer->waiting.erase_if([&](const Waiter& waiter) {
    return conflict(waiter.mode, mode) && QueuePosition{waiter.ticket, member} < first;
  });
}

void Peers::drop_passed(BootTime now) {
  for (Peer& peer : peers_) {
    if (peer.fresh_until > now) continue;
    peer.waiting.clear();
    peer.attempt = {};
  }
}

bool Peers::has_waiters() const {
  return std::ranges::any_of(peers_, [](const Peer& peer) { return !peer.waiting.empty(); });
}

bool Peers::writer_before(QueuePosition first, NodeId asker) const {
  for (const Peer& peer : peers_) {
    if (peer.member == asker) continue;
    for (const Waiter& waiter : peer.waiting)
      if (waiter.mode == Mode::exclusive && QueuePosition{waiter.ticket, peer.member} < first)
        return true;
  }
  return false;
}

}  // namespace tempo::lock::lease
