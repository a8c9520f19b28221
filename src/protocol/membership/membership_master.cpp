// The master: collects grants, completes and proposes views, and knows until when it is main.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "protocol/membership/membership.h"
#include "protocol/membership/membership_mutation.h"

namespace tempo::membership {
namespace {

constexpr int kIntervalsToSilence = 3;  // without a question
constexpr Nanos kOutdatedPause = 1min;  // a machine that nobody else can replace is main after all
constexpr Nanos kFirstLook = 200ms;     // until the members of an earlier view have asked

}  // namespace

void Membership::lead(Turn<Membership>& turn) {
  role_ = Role::leads;
  master_ = kNobody;
  asks_.clear();
  granted_in_ = {};
  leads_since_ = turn.now;
  main_until_ = std::min(main_until_, turn.now);  // as a follower
  timers_.stop(MembershipTimer::ask);
  timers_.set(MembershipTimer::lead, turn.now + std::min(kFirstLook, rules_->interval));
  take_ballot(turn);
}

// A ballot above all that this node knows. Grants under an earlier one of its own stay valid.
void Membership::take_ballot(Turn<Membership>& turn) {
  ballot_ = {std::max(ballot_.round, record_.promised.round) + 1, record_.self};
  record_.promised = ballot_;
  proposal_.reset();
  persist(turn);
}

// --- questions and answers ---

void Membership::receive_ask(Turn<Membership>& turn, NodeId from, const Ask& ask) {
  if (ask.self == kNoMember || ask.self == record_.self || ask.participation >= Participation::last)
    return;
  if (!leads()) {
    if (role_ == Role::follows) pass_on_main(turn, from, ask);
    return;
  }
  Peer* const found = peer_at(turn.now, from, ask);
  if (found == nullptr) return pass_on_main(turn, from, ask);
  Peer& peer = *found;
  if (peer.self != ask.self)
    peer = {.node = from, .self = ask.self, .since = turn.now, .heard = turn.now};
  if (turn.now - peer.heard > kIntervalsToSilence * rules_->interval) peer.since = turn.now;
  peer.heard = turn.now;
  peer.participation = ask.participation;
  learn_view(turn, ask.view);
  if (ask.promised > ballot_) {
    record_.promised = std::max(record_.promised, ask.promised);
    take_ballot(turn);
  }
  const bool foreign = ask.view.known() && ask.view.lineage != record_.view.lineage;
  peer.foreign = foreign ? static_cast<std::uint8_t>(ask.view.members.size()) : std::uint8_t{0};
  note_answer(turn.now, peer, ask);
  compare_age(turn, ask);
  advance(turn);
  send_beacon(turn, from, peer, ask.number);
}

// Whether a member knows network time from much later than this master, which is not main yet. The
// difference does not depend on the time at which it asks.
void Membership::compare_age(Turn<Membership>& turn, const Ask& ask) {
  if (settled_ || turn.now < next_outdated_ || ask.since_main == kNeverMain ||
      !record_.view.known() || ask.view.lineage != record_.view.lineage)
    return;
  const Nanos own = since_main(turn.now);
  if (own != kNeverMain && ask.since_main >= own - kIntervalsToSilence * rules_->interval) return;
  outdated_until_ = turn.now + 2 * rules_->keep;
  next_outdated_ = turn.now + kOutdatedPause;
  turn.out.notify({Notice::Kind::outdated});
}

// Null: a guest, or too many machines ask. Members of the view always have a place.
Membership::Peer* Membership::peer_at(BootTime now, NodeId node, const Ask& ask) {
  const auto at = std::ranges::lower_bound(peers_, node, {}, &Peer::node);
  if (at != peers_.end() && at->node == node) return &*at;
  const bool votes = record_.view.has(ask.self);
  if (!votes && ask.participation != Participation::member) return nullptr;
  if (peers_.size() >= kMaxPeers) {
    std::erase_if(peers_, [&](const Peer& peer) {
      return now - peer.heard > rules_->keep && !record_.view.has(peer.self);
    });
    if (peers_.size() >= (votes ? kMaxPeers + kMaxMembers : kMaxPeers)) return nullptr;
  }
  return &*peers_.insert(std::ranges::lower_bound(peers_, node, {}, &Peer::node),
                         Peer{.node = node});
}

// Tells a machine without a vote how long the main part lasts.
void Membership::pass_on_main(Turn<Membership>& turn, NodeId to, const Ask& ask) const {
  const bool is_main = leads() ? main(turn.now) : follows_main(turn.now);
  turn.out.send(
      to, Beacon{.asked = ask.number, .main_for = is_main ? main_until_ - turn.now : Nanos{0}});
}

void Membership::note_answer(BootTime now, Peer& peer, const Ask& ask) const {
  if (ask.ballot != ballot_) return;
  const auto* const beacon = std::ranges::find(peer.beacons, ask.granted, &Stamp::number);
  if (beacon != peer.beacons.end()) peer.granted = std::max(peer.granted, beacon->at);
  if (mutated(Mutation::hold_from_receipt)) peer.granted = now;
  if (mutated(Mutation::old_beacon_counts) && !peer.beacons.empty())
    peer.granted = peer.beacons[peer.beacons.size() - 1].at;
  if (peer.prepared != ballot_) {
    peer.prepared = ballot_;
    peer.accepted_in = ask.accepted_in;
    peer.accepted = ask.accepted;
    peer.accepts = false;
  }
  peer.accepts |= proposal_ && ask.accepted_in == ballot_ && ask.accepted == *proposal_;
}

// A member may know a newer view than this master. A machine without one, alone in one, or without
// a main part for long goes over to that of its members.
void Membership::learn_view(Turn<Membership>& turn, const View& view) {
  const View& own = record_.view;
  if (!view.known() || view.members.empty()) return;
  const bool foreign = lineage() != 0 && view.lineage != lineage();
  const bool newer = !foreign && view.number > own.number;
  const bool larger = lineage_size() <= 1 && view.members.size() > 1;
  const bool over = long_without_main(turn.now) && view.members.size() >= lineage_size();
  if (foreign ? !larger && !over : !newer) return;
  const bool was_main = main(turn.now);
  settled_ = false;
  proposal_.reset();
  if (foreign) {
    main_until_ = std::min(main_until_, turn.now);
    went_over_ = turn.now;
    give_up_record(turn);
    take_ballot(turn);
  }
  install(turn, view);
  if (was_main) turn.out.notify({Notice::Kind::not_main});
}

void Membership::send_beacon(Turn<Membership>& turn, NodeId to, Peer& peer, Sequence asked) {
  last_beacon_ = Sequence{std::to_underlying(last_beacon_) + 1};
  peer.beacons.push_newest({last_beacon_, turn.now});
  Beacon beacon{.number = last_beacon_,
                .asked = asked,
                .ballot = ballot_,
                .main_for = main(turn.now) ? main_until_ - turn.now : Nanos{0},
                .urgent = needs_quorum(turn.now) &&
                          (peers_.size() <= kMaxMembers || record_.view.has(peer.self)),
                .view = record_.view};
  if (proposal_) {
    beacon.proposes = true;
    beacon.proposal = *proposal_;
  }
  turn.out.send(to, beacon);
}

// Whether the next answers may decide something: without a quorum of its view they cannot.
bool Membership::needs_quorum(BootTime now) const {
  if (!record_.view.known()) return now - leads_since_ < 2 * rules_->interval;
  if (!proposal_ && (settled_ || now < outdated_until_)) return false;
  return quorum(record_.view, [&](MemberId member) {
    return member == record_.self || peer_of(now, member) != nullptr;
  });
}

// --- what the members have granted ---

// Null: it does not ask, or two machines say that they are this member.
const Membership::Peer* Membership::peer_of(BootTime now, MemberId member) const {
  const Peer* found = nullptr;
  for (const Peer& peer : peers_) {
    if (peer.self != member || now - peer.heard > rules_->keep) continue;
    if (found != nullptr) return nullptr;
    found = &peer;
  }
  return found;
}

// When the newest beacon was sent that this member granted. The master grants its own now.
BootTime Membership::granted_at(BootTime now, MemberId member) const {
  if (member == record_.self)
    return grants(now, ballot_) && durable_.promised == ballot_ ? now : BootTime::min();
  const Peer* const peer = peer_of(now, member);
  return peer != nullptr ? peer->granted : BootTime::min();
}

bool Membership::prepared(BootTime now, MemberId member) const {
  if (member == record_.self) return durable_.promised == ballot_;
  const Peer* const peer = peer_of(now, member);
  return peer != nullptr && peer->prepared == ballot_;
}

bool Membership::accepted_by_quorum(BootTime now) const {
  return quorum(record_.view, [&](MemberId member) {
    if (member == record_.self)
      return durable_.accepted_in == ballot_ && durable_.accepted == *proposal_;
    const Peer* const peer = peer_of(now, member);
    return peer != nullptr && peer->prepared == ballot_ && peer->accepts;
  });
}

// Whether the machines that the proposal admits have accepted it too, unless they fell silent.
bool Membership::admitted_accept(BootTime now) const {
  return std::ranges::all_of(proposal_->members, [&](MemberId member) {
    if (record_.view.has(member)) return true;
    if (member == record_.self)
      return durable_.accepted_in == ballot_ && durable_.accepted == *proposal_;
    const Peer* const peer = peer_of(now, member);
    return peer == nullptr || peer->accepts;
  });
}

// The next view that was accepted under the highest ballot, as far as the answers say.
std::optional<View> Membership::pending() const {
  if (mutated(Mutation::ignore_pending)) return std::nullopt;
  Ballot best{};
  std::optional<View> found;
  const auto consider = [&](const Ballot& accepted_in, const View& view) {
    const bool next = accepted_in.round != 0 && view.lineage == record_.view.lineage &&
                      view.number == record_.view.number + 1;
    const bool better = mutated(Mutation::oldest_pending) ? accepted_in < best : accepted_in > best;
    if (!next || (found && !better)) return;
    best = accepted_in;
    found = view;
  };
  consider(record_.accepted_in, record_.accepted);
  for (const Peer& peer : peers_)
    if (peer.prepared == ballot_) consider(peer.accepted_in, peer.accepted);
  return found;
}

// --- the main part ---

void Membership::advance(Turn<Membership>& turn) {
  if (!record_.view.known()) return;
  if (turn.now >= generation_at_) {
    generation_at_ = kNever;
    turn.out.notify({Notice::Kind::generation});
    renew_main(turn.now);
  }
  if (settled_ && turn.now >= main_until_ && !mutated(Mutation::main_after_lapse)) {
    settled_ = begins_generation_ = false;
    generation_at_ = kNever;
    take_ballot(turn);
    turn.out.notify({Notice::Kind::not_main});
  }
  if (proposal_) agree(turn);
  if (!proposal_) propose_next(turn);
  renew_main(turn.now);
}

void Membership::renew_main(BootTime now) {
  if (!settled_) return;
  const auto at = [&](MemberId member) { return granted_at(now, member); };
  BootTime sent = quorum_time(record_.view, at);
  if (proposal_ && !mutated(Mutation::new_view_ungranted))
    sent = std::min(sent, quorum_time(*proposal_, at));
  if (sent == BootTime::min()) return;
  const BootTime until = std::min(sent + hold(), generation_at_);
  if (until > now) extend_main(until);
}

Nanos Membership::hold() const {
  return mutated(Mutation::no_rate_margin) ? rules_->keep : rules_->hold;
}

void Membership::propose_next(Turn<Membership>& turn) {
  const auto is_prepared = [&](MemberId member) { return prepared(turn.now, member); };
  if (!quorum(record_.view, is_prepared)) return;
  if (const auto view = pending()) return propose(turn, *view, false);
  if (!settled_ && turn.now < outdated_until_) return;
  if (!settled_) return propose(turn, successor(), true);
  if (!main(turn.now) || generation_at_ != kNever) return;
  if (outweighed(turn.now)) {
    View dissolved = successor();
    dissolved.members.clear();
    return propose(turn, dissolved, true);
  }
  const View next = changed_view(turn.now);
  if (next.members == record_.view.members && !begins_generation_) return;
  propose(turn, next, true);
}

void Membership::propose(Turn<Membership>& turn, const View& view, bool own) {
  proposal_ = view;
  own_ = own;
  for (Peer& peer : peers_) peer.accepts = false;
  if (record_.view.has(record_.self) || view.has(record_.self)) {
    record_.accepted_in = ballot_;
    record_.accepted = view;
    persist(turn);
  }
  agree(turn);
}

void Membership::agree(Turn<Membership>& turn) {
  const bool barrier = own_ && !settled_ && mutated(Mutation::no_barrier);
  if (!accepted_by_quorum(turn.now) && !barrier) return;
  if (own_ && !admitted_accept(turn.now)) return;
  // The new view's own grants must reach as far as every V that was given out.
  const auto at = [&](MemberId member) { return granted_at(turn.now, member); };
  const BootTime sent = quorum_time(*proposal_, at);
  const BootTime until = sent == BootTime::min() ? sent : sent + hold();
  // A restarted master is not main before every V of its earlier incarnation is over.
  const bool granted =
      settled_ ? until >= main_until_ : until > turn.now && turn.now >= abstains_until_;
  const bool dissolves = proposal_->members.empty();
  if (own_ && !granted && !dissolves && !mutated(Mutation::new_view_ungranted)) return;
  const View next = *std::exchange(proposal_, std::nullopt);
  const bool generation = next.timescale_generation != record_.view.timescale_generation;
  install(turn, next);
  if (dissolves) {
    settled_ = begins_generation_ = false;
    main_until_ = std::min(main_until_, turn.now);
    turn.out.notify({Notice::Kind::not_main});
    return;
  }
  if (!own_) return advance(turn);
  if (generation && begins_generation_) {
    begins_generation_ = false;
    generation_at_ = turn.now + rules_->keep;
    timers_.set(MembershipTimer::lead, std::min(timers_.at(MembershipTimer::lead), generation_at_));
  }
  if (settled_) return;
  settled_ = true;
  extend_main(until);
  turn.out.notify({Notice::Kind::main});
}

// --- changes ---

// The present view with the next number.
View Membership::successor() const {
  View next = record_.view;
  ++next.number;
  if (!next.members.empty() && !next.has(next.tie_breaker))
    next.tie_breaker = next.has(record_.self) ? record_.self : next.members.front();
  return next;
}

View Membership::changed_view(BootTime now) const {
  View next = successor();
  if (begins_generation_) ++next.timescale_generation;
  const auto gone = [&](MemberId member) {
    if (member == record_.self) return false;
    BootTime heard = leads_since_;
    for (const Peer& peer : peers_) {
      if (peer.self != member) continue;
      if (peer.participation != Participation::member) return true;
      heard = std::max(heard, peer.heard);
    }
    return now - heard > rules_->forget_after;
  };
  next.members.erase_if(gone);
  // One machine joins at a time.
  const auto join = [&](MemberId member) {
    if (next.members.full() || next.has(member)) return false;
    insert(next.members, member);
    return true;
  };
  const bool open = founded_ != kNever && now - founded_ < rules_->open_for;
  const Nanos probation = open ? Nanos{0} : rules_->probation;
  bool joined = participation_ == Participation::member && join(record_.self);
  for (const Peer& peer : peers_) {
    const bool asks = peer.participation == Participation::member && peer.foreign == 0 &&
                      now - peer.since >= probation &&
                      now - kIntervalsToSilence * rules_->interval <= peer.granted;
    if (!joined && asks && peer_of(now, peer.self) != nullptr) joined = join(peer.self);
  }
  if (!next.members.empty() && !next.has(next.tie_breaker))
    next.tie_breaker = next.has(record_.self) ? record_.self : next.members.front();
  return next;
}

// Whether a machine that asks is a member of a larger lineage.
bool Membership::outweighed(BootTime now) const {
  return std::ranges::any_of(peers_, [&](const Peer& peer) {
    return peer.foreign > view_size() && now - peer.heard <= rules_->keep;
  });
}

// A machine that has accepted its admission to a lineage waits for that lineage first.
void Membership::found_if_none(Turn<Membership>& turn) {
  if (!record_.view.members.empty() || participation_ != Participation::member ||
      durable_.self != record_.self)
    return;
  if (lineage() != record_.view.lineage) {
    if (!long_without_main(turn.now)) return;
    give_up_record(turn);
    take_ballot(turn);
    return;  // until the new number is on disk
  }
  found(turn, 0);
}

// Time to look for another lineage.
bool Membership::long_without_main(BootTime now) const {
  const BootTime last = std::max({last_main_, abstains_until_, leads_since_, went_over_});
  return now - rules_->forget_after >= last;
}

void Membership::found(Turn<Membership>& turn, std::uint32_t generation) {
  record_.view = {.lineage = turn.draw.below(std::uint64_t{1} << 62) + 1,
                  .number = 1,
                  .tie_breaker = record_.self,
                  .timescale_generation = generation};
  insert(record_.view.members, record_.self);
  founded_ = turn.now;
  persist(turn);
  turn.out.notify({Notice::Kind::installed});
}

// Only on a master that is not main: a main part changes its view itself.
void Membership::new_lineage(Turn<Membership>& turn) {
  if (!leads() || main(turn.now)) return;
  const std::uint32_t generation = record_.view.timescale_generation + 1;
  give_up_record(turn);
  take_ballot(turn);
  found(turn, generation);
}

}  // namespace tempo::membership
