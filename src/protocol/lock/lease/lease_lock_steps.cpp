// The procedures of a lock (section 5), under their names in that section.
#include <algorithm>

#include "protocol/lock/lease/lease_lock.h"
#include "protocol/lock/lease/lease_member.h"
#include "protocol/lock/lease/lease_mutation.h"

namespace tempo::lock::lease {

// Whether this count is reserved on disk. Requests the next block long before it is needed.
bool Lock::reserve(Scope& scope, std::uint64_t count) {
  MemberState& state = scope.state;
  if (const std::uint64_t reserve = state.write_for(count); reserve != 0) state.ask_write(reserve);
  return state.reserved(count);
}

// --- DECIDE ---

bool Lock::behind(const Scope& scope, NodeId from, QueuePosition first, Mode mode) const {
  if (mode == Mode::shared && peers_.writer_before(first, from)) return true;
  if (lease_ || from == scope.self()) return false;
  const Client* own = first_waiting();
  return own != nullptr && conflict(own->mode, mode) && own_place(scope.self()) < first;
}

std::optional<Why> Lock::decide(Scope& scope, NodeId from, GrantRequest request,
                                QueuePosition first) {
  if (!scope.state.view().votes_for(scope.self())) return std::nullopt;
  if (!scope.state.speaks(scope.now())) {
    // A lease in use whose clients may resume: this grantor knows it when it votes again. A promise
    // that no answer tells of is safe, and the holder may need this voter by then.
    if (request.held && request.registers.holder != kNobody &&
        !mutated(Mutation::abstaining_voter_forgets))
      (void)grantor_.decide(request, scope.now(), scope.rules());
    return Why::abstain;
  }
  if (request.ballot.count > top() && !reserve(scope, request.ballot.count)) return std::nullopt;
  request.own = from == scope.self();
  request.behind = behind(scope, from, first, request.mode);
  BootTime received = scope.now();
  if (mutated(Mutation::promise_before_receipt)) received -= scope.rules().lease / 4;
  return grantor_.decide(request, received, scope.rules());
}

// --- VALID ---

BootTime Lock::valid(const Scope& scope) const {
  BootTime best = BootTime::min();
  for (const BootTime t : granted_until_) {
    if (t <= best) continue;
    Voters in_favour = 0;
    for (std::uint32_t i = 0; i < kMaxVoters; ++i)
      if (granted_until_[i] >= t) in_favour |= static_cast<Voters>(1U << i);
    if (scope.state.view().quorum(in_favour)) best = t;
  }
  return best;
}

void Lock::count_grants(Scope& scope) {
  const BootTime until = valid(scope);
  if (until <= scope.now() || waits_for_other(scope)) return;
  if (attempt_) {
    lease_ = Lease{attempt_->ballot, attempt_->mode, 0, until};
    attempt_.reset();
    seen_ = std::max(seen_, lease_->held());
    passed_.reset();
    repeated_ = false;
  } else if (lease_ && until > lease_->until) {
    lease_->until = until;
    repeated_ = false;
    if (inside()) notify(scope, {.kind = Notice::Kind::extended, .deadline = lease_->until});
  }
}

// If each of two voters is a quorum, one alone counts only when the other does not answer.
bool Lock::waits_for_other(const Scope& scope) const {
  if (!scope.state.view().available || !attempt_ || attempt_->alone) return false;
  return std::ranges::count_if(granted_until_,
                               [&](BootTime until) { return until > scope.now(); }) < 2;
}

void Lock::forget_grants() { granted_until_.fill(BootTime{}); }

// A grant of the former voter of a slot does not count for its new voter.
void Lock::change_view(const View& before, const View& after) {
  for (std::size_t i = 0; i < kMaxVoters; ++i)
    if (before.slots[i] != after.slots[i]) granted_until_[i] = BootTime{};
}

// --- ATTEMPT, WITHDRAW, EXPIRE ---

void Lock::attempt(Scope& scope) {
  if (lease_ || attempt_ || backing_off_ || !own_waits() || !scope.state.asks(scope.now())) return;
  const std::uint64_t count = scope.state.next_count(top());
  if (!reserve(scope, count)) return;  // `resume` repeats it
  Ballot ballot{count, scope.self()};
  if (mutated(Mutation::freed_ballot_reused))
    for (const Ballot& ended : grantor_.ended())
      if (ended.origin == scope.self()) ballot = ended;
  grantor_.raise(ballot.count);
  forget_grants();
  attempt_ = Attempt{ballot, first_waiting()->mode};
  repeated_ = false;
  ask(scope, false);
}

Ballot Lock::give_up_attempt() {
  const Ballot ballot = attempt_->ballot;
  grantor_.end(ballot);
  forget_grants();
  attempt_.reset();
  return ballot;
}

void Lock::withdraw() { ends_.push_newest(give_up_attempt()); }

void Lock::expire(Scope& scope) {
  if (!lease_ || scope.now() < lease_->until) return;
  for (const Client& client : clients_)
    if (client.inside)
      notify(scope, {.kind = Notice::Kind::lost, .client = client.id, .mode = client.mode});
  std::erase_if(clients_, &Client::inside);
  if (keeps_for_others(scope)) {  // no announcement ends the promises that protect them
    forget_grants();
    lease_.reset();
  } else {
    end_lease();
  }
}

void Lock::end_lease() {
  ends_.push_newest(lease_->ballot);
  grantor_.end(lease_->ballot);
  forget_grants();
  lease_.reset();
}

// --- SERVE ---

void Lock::serve(Scope& scope) {
  if (!mutated(Mutation::gives_after_v)) expire(scope);
  if (!lease_ || !(own_waits() || peers_.has_waiters())) return;
  if (lease_->resumed && !mutated(Mutation::resumed_lease_gives)) return;
  const Nanos least = Rules::least_left(length(scope.rules()));
  if (lease_->until - scope.now() <= least && !mutated(Mutation::gives_after_v)) {
    if (renew_at_ <= scope.now()) ask(scope, true);
    if (lease_->until - scope.now() <= least) return;
  }
  while (lease_ && serve_in_order(scope)) {
  }  // ends: every client gets the lock once
}

// Returns whether to go through the waiters again.
bool Lock::serve_in_order(Scope& scope) {
  std::optional<Place> place = place_after(QueuePosition{.ticket = 0, .member = NodeId{0}}, scope);
  while (place) {  // ends: positions increase
    const Next next = place->own != nullptr ? serve_own(scope, *place) : serve_other(scope, *place);
    if (next != Next::go_on) return next == Next::again;
    place = place_after(place->at, scope);
  }
  return false;
}

// Usually one position is enough, so this does not sort them all.
std::optional<Lock::Place> Lock::place_after(QueuePosition last, const Scope& scope) {
  std::optional<Place> first;
  const auto consider = [&](const Place& place) {
    if (last < place.at && (!first || place.at < first->at)) first = place;
  };
  for (Client& client : clients_)
    if (!client.inside) consider({{client.ticket, scope.self()}, client.mode, &client});
  for (const Peer& peer : peers_.all())
    for (const Waiter& waiter : peer.waiting)
      consider({{waiter.ticket, peer.member}, waiter.mode, nullptr});
  return first;
}

Lock::Next Lock::serve_own(Scope& scope, const Place& place) {
  const bool writes = place.mode == Mode::exclusive;
  if (writes ? inside() : writer_inside()) return Next::stop;
  if (lease_->sub >= scope.rules().max_sub) return inside() ? Next::stop : start_new_ballot(scope);
  if (writes && lease_->mode == Mode::shared) {
    if (!mutated(Mutation::shared_raised)) return start_new_ballot(scope);
    lease_->mode = Mode::exclusive;
  }
  grant(scope, *place.own);
  return Next::again;
}

Lock::Next Lock::serve_other(Scope& scope, const Place& place) {
  const bool writes = place.mode == Mode::exclusive;
  if (lease_->mode == Mode::shared) {
    if (!writes) return Next::go_on;  // the reader's member gets its own lease
    if (!inside()) free_lease(scope);
    return Next::stop;
  }
  if (!inside() || (writes && mutated(Mutation::gives_while_inside))) return pass(scope, place);
  if (writes || writer_inside()) return Next::stop;
  // Only readers are inside: downgrade from X to S.
  if (mutated(Mutation::exclusive_kept) && renew_at_ > scope.now()) return Next::stop;
  lease_->mode = Mode::shared;
  ask(scope, true);
  decide_pending(scope);
  if (mutated(Mutation::exclusive_kept)) lease_->mode = Mode::exclusive;
  return Next::go_on;
}

// The lease cannot serve the next client, which needs a new ballot.
Lock::Next Lock::start_new_ballot(Scope& scope) {
  end_lease();
  attempt(scope);
  return lease_ ? Next::again : Next::stop;
}

void Lock::grant(Scope& scope, Client& client) {
  if (!mutated(Mutation::sub_not_raised)) ++lease_->sub;
  seen_ = std::max(seen_, lease_->held());
  client.inside = true;
  if (client.insider.session.number != 0) {
    client.insider.sub = lease_->sub;
    register_at_ =
        std::min(register_at_, scope.now() + scope.rules().register_delay(client.length));
  }
  notify(scope, {.kind = Notice::Kind::granted,
                 .client = client.id,
                 .mode = client.mode,
                 .token = lease_->held().token(),
                 .origin = lease_->ballot.origin,
                 .deadline = lease_->until});
}

// --- PASS ---

Lock::Next Lock::pass(Scope& scope, const Place& place) {
  const Peer& peer = peers_.of(place.at.member);
  const bool longer = length_ > scope.rules().lease;  // the receiver may not want that length
  const bool must_free = longer || (scope.lock == kViewLock && !mutated(Mutation::view_passed));
  if (must_free || peer.heard_until <= scope.now() || lease_->sub >= scope.rules().max_sub) {
    free_lease(scope);
    return Next::stop;
  }
  if (!mutated(Mutation::sub_not_raised)) ++lease_->sub;
  passed_ = Passed{place.at.member, peer.boot, *lease_, place.at.ticket};
  grantor_.note_pass(lease_->ballot, place.at.member, peer.boot, lease_->sub);
  lease_.reset();  // before it is announced
  forget_grants();
  send_pass(scope);
  if (mutated(Mutation::free_after_pass)) send_free(scope, passed_->lease.ballot);
  return Next::stop;
}

void Lock::send_pass(Scope& scope) {
  const Peer& peer = peers_.of(passed_->target);
  peers_.served(passed_->target, passed_->ticket);
  peers_.forget_attempt(passed_->target);
  const BootTime heard = peer.heard_until - scope.rules().lease;  // r_j
  multicast(scope, {.kind = Kind::pass,
                    .ballot = passed_->lease.ballot,
                    .to_boot = peer.boot,
                    .to_k = peer.heard_k,
                    .target = passed_->target,
                    .sub = passed_->lease.sub,
                    .left = passed_->lease.until - heard,
                    .ticket = passed_->ticket,
                    .standings = peers_.standings(passed_->target)});
}

// --- sending ---

// The client of @view is the member itself, which checks the lease directly.
void Lock::notify(Scope& scope, Notice notice) {
  if (scope.lock == kViewLock) return;
  notice.lock = scope.lock;
  scope.turn.out.notify(notice);
}

void Lock::multicast(Scope& scope, Message message) {
  MemberState& state = scope.state;
  message.lock = scope.lock;
  message.view = state.view().number;
  message.boot = state.boot;
  message.record = state.record_id;
  message.k = ++state.k;
  if (state.asks(scope.now())) message.waiting = announced();
  message.ends = ends_;
  ends_.clear();
  if (message.kind != Kind::resume) message.length = length(scope.rules());
  sent_.push_newest({message.k, scope.now() + scope.rules().lease, message.length});
  scope.turn.out.broadcast(message);
}

void Lock::ask(Scope& scope, bool held) {
  const Voters named = helpers(scope);
  if (repeated_) scope.state.answered = 0;
  repeated_ = true;
  length_ = length(scope.rules());
  Message message{.kind = Kind::ask,
                  .ballot = held ? lease_->ballot : attempt_->ballot,
                  .mode = held ? lease_->mode : attempt_->mode,
                  .held = held,
                  .resumed = held && lease_->resumed,
                  .named = named,
                  .over_at = scope.state.over_at(scope.now(), length_)};
  message.no_wait = std::ranges::any_of(
      clients_, [](const Client& client) { return !client.inside && client.no_wait; });
  if (held) {
    renew_at_ = scope.now() + scope.rules().renew_gap(length_);
    register_at_ = kNever;
    message.inside = insiders();
    if (!message.inside.empty()) message.sub = lease_->sub;
  }
  multicast(scope, message);
  own_vote(scope);
}

// Voters that shall answer: all, or, with suppress_replies, enough of those that answered last
// time.
Voters Lock::helpers(const Scope& scope) const {
  constexpr Voters kAll = 0xff;
  if (!scope.rules().suppress_replies || repeated_) return kAll;
  const View& view = scope.state.view();
  Voters named = view.bit_of(scope.self());
  for (std::uint32_t i = 0; i < kMaxVoters && !view.quorum(named); ++i)
    named |= static_cast<Voters>(scope.state.answered & 1U << i);
  return view.quorum(named) ? named : kAll;
}

// This member's own vote for its attempt or its lease.
void Lock::own_vote(Scope& scope) {
  GrantRequest request{.ballot = lease_ ? lease_->ballot : attempt_->ballot,
                       .mode = lease_ ? lease_->mode : attempt_->mode,
                       .held = lease_.has_value(),
                       .length = length_};
  if (lease_) {
    const Insiders inside = insiders();
    if (!inside.empty()) request.registers = {scope.self(), scope.state.boot, lease_->sub, inside};
    request.resumed = lease_->resumed;
  }
  if (decide(scope, scope.self(), request, own_place(scope.self())) != Why::none) return;
  const auto slot = scope.state.view().slot_of(scope.self());
  granted_until_[slot.value()] =
      scope.now() + scope.rules().hold(length_);  // it voted, so it has a slot
  count_grants(scope);
}

void Lock::send_free(Scope& scope, const Ballot& ballot) {
  grantor_.end(ballot);
  backing_off_ = own_waits();
  multicast(scope, {.kind = Kind::free, .ballot = ballot});
}

// Answers pending requests of others at once, as every member does that receives the FREE.
void Lock::free_lease(Scope& scope) {
  const Ballot ballot = lease_->ballot;
  lease_.reset();
  forget_grants();
  send_free(scope, ballot);
  decide_pending(scope);
}

void Lock::answer(Scope& scope, const Address& to, const Ballot& ballot, Why why, bool held) {
  Message message{.kind = why == Why::none ? Kind::grant : Kind::refuse,
                  .lock = scope.lock,
                  .view = scope.state.view().number,
                  .boot = scope.state.boot,
                  .record = scope.state.record_id,
                  .ballot = ballot,
                  .to_boot = to.boot,
                  .to_k = to.k};
  if (scope.lock == kViewLock && !mutated(Mutation::proposal_forgotten))
    message.next = scope.state.accepted;
  if (why == Why::none) message.claims = scope.state.claims;
  if (why != Why::none) {
    message.top = top();
    message.why = why;
    message.held = held;
  }
  scope.turn.out.send(to.member, message);
}

}  // namespace tempo::lock::lease
