#include "protocol/lock/lease/lease_lock.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "protocol/lock/lease/lease_member.h"
#include "protocol/lock/lease/lease_mutation.h"

namespace tempo::lock::lease {
namespace {

constexpr QueuePosition kLast{.ticket = std::numeric_limits<std::uint64_t>::max(),
                              .member = kNobody};

// Position of the member's first waiter; after all others, and of no member, if none waits.
QueuePosition place_of(NodeId member, const Waiting& waiting) {
  return waiting.empty() ? kLast : QueuePosition{waiting.front().ticket, member};
}

bool holds_ticket(const Waiting& waiting, std::uint64_t ticket) {
  return std::ranges::find(waiting, ticket, &Waiter::ticket) != waiting.end();
}

}  // namespace

BootTime Scope::now() const { return turn.now; }

// --- inputs ---

void Lock::acquire(Scope& scope, const Command& command) {
  begin(scope);
  admit(scope, command);
  finish(scope);
}

void Lock::admit(Scope& scope, const Command& command) {
  if (known(command.client)) return;
  if (clients_.size() + returning_.size() >= kMaxClients) {
    notify(scope, {.kind = Notice::Kind::refused, .client = command.client});
    return;
  }
  const Rules& rules = scope.rules();
  clients_.push_back(
      {.id = command.client,
       .mode = command.mode,
       .ticket = scope.state.next_ticket(command.network_us, peers_.largest_ticket()),
       .length = command.length == Nanos{0} ? rules.lease : std::min(command.length, rules.longest),
       .insider = {.session = command.session},
       .no_wait = command.no_wait});
  serve(scope);
  if (occupied(command.mode) || !scope.state.asks(scope.now())) refuse_impatient(scope);
  if (own_waits() && !lease_) ask_or_attempt(scope);
}

// Whether a lease held here cannot be given now to a client of this mode, here or elsewhere.
bool Lock::occupied(Mode mode) const {
  return lease_ && (lease_->resumed || (inside() && conflict(lease_->mode, mode)));
}

// Clients that do not wait get an answer within a round trip: the holder itself says that it cannot
// give up the lease.
void Lock::refuse_impatient(Scope& scope) {
  std::erase_if(clients_, [&](const Client& client) {
    if (client.inside || !client.no_wait) return false;
    notify(scope, {.kind = Notice::Kind::busy, .client = client.id, .mode = client.mode});
    return true;
  });
}

void Lock::release(Scope& scope, ClientId client) {
  begin(scope);
  std::erase_if(clients_, [&](const Client& one) { return one.id == client; });
  std::erase_if(returning_, [&](const Returning& one) { return one.client.id == client; });
  finish(scope);
}

void Lock::receive(Scope& scope, NodeId from, const Message& message) {
  begin(scope);
  switch (message.kind) {
    case Kind::ask:
      receive_ask(scope, from, message);
      break;
    case Kind::grant:
      receive_grant(scope, from, message);
      break;
    case Kind::refuse:
      receive_refuse(scope, from, message);
      break;
    case Kind::free:
      receive_free(scope, from, message);
      break;
    case Kind::pass:
      receive_pass(scope, from, message);
      break;
    case Kind::resume:
      receive_resume(scope, from, message);
      break;
    case Kind::query:
    case Kind::record:
    case Kind::propose:
    case Kind::accept:
      break;  // for the member, not for a lock
  }
  finish(scope);
}

void Lock::on_timer(Scope& scope) {
  begin(scope);
  expire(scope);
  if (retry_ <= scope.now()) on_retry(scope);
  resume_clients(scope);
  finish(scope);
}

void Lock::resume(Scope& scope) {
  begin(scope);
  for (Returning& client : returning_)
    if (client.again_at == kNever) client.again_at = scope.now();
  resume_clients(scope);
  decide_pending(scope);
  if (own_waits() && !lease_ && !attempt_) attempt(scope);
  finish(scope);
}

// --- before and after every input ---

void Lock::begin(Scope& scope) {
  const BootTime now = scope.now();
  grantor_.raise(scope.state.floor);
  grantor_.drop_passed(now);
  peers_.drop_passed(now);
  sent_.erase_if([&](const Sent& sent) { return sent.until <= now; });
  if (passed_ && passed_->lease.until <= now) passed_.reset();
  if (!mutated(Mutation::gives_after_v) && !mutated(Mutation::expired_lease_extended))
    expire(scope);
  drop_late_returns(scope);
}

void Lock::finish(Scope& scope) {
  serve(scope);
  keep_lease(scope);
  const bool asks = attempt_ || (own_waits() && !lease_);
  if (!attempt_ && !lease_) length_ = Nanos{0};
  if (!lease_) register_at_ = kNever;
  if (!asks) {
    retry_ = kNever;
    backing_off_ = false;
  } else if (retry_ == kNever) {
    const Nanos span = scope.rules().retry(length(scope.rules()));
    retry_ = scope.now() + span + scope.turn.draw.between(Nanos{0}, span / 4);
  }
}

// Extends a lease in use in time, and gives an unused lease back before it ends. An unused lease
// longer than L goes back at once: other members did not ask for that length and shall not wait
// that long if this daemon dies.
void Lock::keep_lease(Scope& scope) {
  if (!lease_) return;
  const Nanos left = lease_->until - scope.now();
  if (lease_->resumed && !inside()) {
    if (!keeps_for_others(scope)) free_lease(scope);
  } else if (inside() || own_waits()) {
    const bool registers = register_at_ <= scope.now() && inside();
    const bool extends = left <= length(scope.rules()) / 2 && renew_at_ <= scope.now();
    if (registers || extends) ask(scope, true);
  } else if (scope.lock == kViewLock ||
             (!peers_.has_waiters() && (left <= length_ / 6 || length_ > scope.rules().lease))) {
    free_lease(scope);  // each use of @view needs new answers: they report accepted proposals
  }
}

void Lock::on_retry(Scope& scope) {
  retry_ = kNever;  // `finish` sets it again
  backing_off_ = false;
  if (attempt_ && !own_waits()) {
    send_free(scope, give_up_attempt());
    return;
  }
  if (attempt_) {
    const bool beaten = !grantor_.promised(attempt_->ballot) && attempt_->ballot.count < top();
    if (beaten || attempt_->mode != first_waiting()->mode)
      withdraw();
    else
      attempt_->alone = scope.state.view().available && !attempt_->answered;
  }
  if (!own_waits() || lease_) return;
  ask_or_attempt(scope);
}

BootTime Lock::due(const Rules& rules) const {
  const BootTime first = std::min(retry_, resume_due());
  if (!lease_) return first;
  const BootTime end = std::min(first, lease_->until);
  if (lease_->resumed && !inside()) return end;
  if (inside() || own_waits())
    return std::min({end, inside() ? register_at_ : kNever,
                     std::max(renew_at_, lease_->until - length(rules) / 2)});
  if (peers_.has_waiters())
    return std::min(end, std::max(renew_at_, lease_->until - Rules::least_left(length_)));
  return std::min(end, lease_->until - length_ / 6);
}

void Lock::abandon(Scope& scope) {
  begin(scope);
  clients_.clear();
  if (attempt_) send_free(scope, give_up_attempt());
  if (lease_) free_lease(scope);
  finish(scope);
}

bool Lock::accepts(const Ballot& ballot, std::uint64_t floor) {
  grantor_.raise(floor);
  if (ballot.count < top()) return false;
  grantor_.raise(ballot.count);
  return true;
}

bool Lock::known(ClientId client) const {
  const auto is_it = [&](const Returning& one) { return one.client.id == client; };
  return std::ranges::find(clients_, client, &Client::id) != clients_.end() ||
         std::ranges::any_of(returning_, is_it);
}

bool Lock::forgettable() const {
  return grantor_.idle() && !lease_ && !attempt_ && clients_.empty() && returning_.empty() &&
         !peers_.has_waiters();
}

// --- receiving (section 6) ---

void Lock::receive_ask(Scope& scope, NodeId from, const Message& message) {
  peers_.learn(from, message, scope.now(), scope.rules(), pass_target());
  for (const Ballot& ballot : message.ends) grantor_.end(ballot);
  if (yields_to(scope, from, message)) send_free(scope, give_up_attempt());
  GrantRequest request{.ballot = message.ballot,
                       .mode = message.mode,
                       .held = message.held,
                       .length = message.length,
                       .over_in = scope.state.over_in(message.over_at, scope.now()),
                       .resumed = message.resumed};
  if (message.held && !message.inside.empty())
    request.registers = {from, message.boot, message.sub, message.inside};
  const std::optional<Why> why = decide(scope, from, request, place_of(from, message.waiting));
  if (why == Why::none) peers_.forget_attempt(from);
  const bool named = (message.named & scope.state.view().bit_of(scope.self())) != 0;
  const bool busy = message.no_wait && occupied(message.mode) && why != Why::none;
  if (busy || (why && (named || why == Why::low)))
    answer(scope, {from, message.boot, message.k}, message.ballot, why.value_or(Why::busy), busy);
  if (message.held && message.mode == Mode::shared)
    decide_pending(scope);  // it may have been X until now
  pass_again(scope, from, message);
  if (passed_ && message.held && message.ballot.count >= passed_->lease.ballot.count)
    passed_.reset();
}

// An attempt with some of the grants blocks a holder, or a client that has waited longer.
bool Lock::yields_to(const Scope& scope, NodeId from, const Message& message) const {
  if (!attempt_) return false;
  if (!own_waits()) return true;
  const bool granted =
      std::ranges::any_of(granted_until_, [&](BootTime until) { return until > scope.now(); });
  return granted && conflict(message.mode, attempt_->mode) &&
         (message.held || place_of(from, message.waiting) < own_place(scope.self()));
}

// The PASS may have been lost: repeat it to a target that still waits for it. Only the target's
// newest message shows that it does: an old copy would revive a lease that was used and freed
// since.
void Lock::pass_again(Scope& scope, NodeId from, const Message& message) {
  if (!passed_ || passed_->target != from || message.held) return;
  const Peer& peer = peers_.of(from);
  if (peer.heard_until <= scope.now()) return;
  const bool newest = message.k == peer.heard_k || mutated(Mutation::pass_on_old_word);
  const bool same_boot =
      passed_->boot == message.boot && holds_ticket(message.waiting, passed_->ticket);
  if (newest && (same_boot || mutated(Mutation::pass_to_newer_boot))) send_pass(scope);
}

void Lock::receive_grant(Scope& scope, NodeId from, const Message& message) {
  if (message.sub != 0) return receive_resume_grant(scope, from, message);
  const Sent* sent = std::ranges::find(sent_, message.to_k, &Sent::k);
  const bool of_attempt = attempt_ && attempt_->ballot == message.ballot;
  const bool of_lease = lease_ && lease_->ballot == message.ballot;
  if (sent == sent_.end() || (!of_attempt && !of_lease)) return;
  const auto slot = scope.state.view().slot_of(from);
  if (!slot) return;
  const Rules& rules = scope.rules();
  const BootTime asked = sent->until - rules.lease;
  if (rules.suppress_replies) scope.state.answered |= scope.state.view().bit_of(from);
  if (of_attempt) attempt_->answered = scope.state.view().available;
  if (of_attempt)
    peers_.forget_waiters_before(from, asked, own_place(scope.self()), attempt_->mode);
  scope.state.note_proposal(message.next);
  BootTime& until = granted_until_[*slot];
  const Nanos length =
      mutated(Mutation::grant_by_other_length) ? this->length(rules) : sent->length;
  until = std::max(until, asked + rules.hold(length));
  count_grants(scope);
}

void Lock::receive_refuse(Scope& scope, NodeId from, const Message& message) {
  grantor_.raise(message.top);
  if (scope.rules().suppress_replies) scope.state.answered |= scope.state.view().bit_of(from);
  if (!attempt_ || attempt_->ballot != message.ballot) return;
  attempt_->answered = scope.state.view().available;
  if (message.held) refuse_impatient(scope);
  if (message.why != Why::low) return;
  // The next lock without state would be refused in the same way.
  scope.state.floor = std::max(scope.state.floor, message.top);
  withdraw();
  attempt(scope);
}

void Lock::receive_free(Scope& scope, NodeId from, const Message& message) {
  peers_.learn(from, message, scope.now(), scope.rules(), pass_target());
  for (const Ballot& ballot : message.ends) grantor_.end(ballot);
  grantor_.end(message.ballot);
  peers_.ended(message.ballot);
  decide_pending(scope);
}

void Lock::receive_pass(Scope& scope, NodeId from, const Message& message) {
  if (message.target == kNobody) return;
  const BootTime now = scope.now();
  peers_.learn(from, message, now, scope.rules(), pass_target());
  for (const Ballot& ballot : message.ends) grantor_.end(ballot);
  peers_.merge(message.standings, scope.self(), now, scope.rules(), pass_target());
  peers_.served(message.target, message.ticket);
  peers_.forget_attempt(message.target);
  grantor_.note_pass(message.ballot, message.target, message.to_boot, message.sub);
  const Held passed{message.ballot.count, message.sub};
  if (passed_ && passed > passed_->lease.held()) passed_.reset();
  if (message.target == scope.self() && message.to_boot == scope.state.boot)
    take_pass(scope, message);
}

// The lease ends on this clock before it ends on the giver's: the rest counts from before this
// member sent its own ASK.
void Lock::take_pass(Scope& scope, const Message& message) {
  const Held offered{message.ballot.count, message.sub};
  const Sent* sent = std::ranges::find(sent_, message.to_k, &Sent::k);
  if (lease_ || sent == sent_.end()) return;
  if (offered <= seen_ && !mutated(Mutation::pass_accepted_twice)) return;
  const BootTime from = mutated(Mutation::taker_counts_from_receipt)
                            ? scope.now()
                            : sent->until - scope.rules().lease;
  const BootTime until = from + scope.rules().shrink(message.left);
  if (until <= scope.now()) return;
  if (attempt_) withdraw();
  forget_grants();
  lease_ = Lease{message.ballot, Mode::exclusive, message.sub, until};
  length_ = length(scope.rules());
  seen_ = offered;
  passed_.reset();
}

// A promise has ended: decide the requests that waited for it, oldest first, without a new ASK.
void Lock::decide_pending(Scope& scope) {
  InlineVector<QueuePosition, kMaxPeers + 1> pending;
  if (attempt_ && !grantor_.promised(attempt_->ballot)) pending.push_back(own_place(scope.self()));
  for (const Peer& peer : peers_.all())
    if (peer.attempt.count != 0) pending.push_back(peer.first());
  std::ranges::sort(pending);
  for (const QueuePosition& place : pending) {
    if (place.member == scope.self()) {
      own_vote(scope);
      continue;
    }
    const Peer& peer = peers_.of(place.member);
    const Ballot ballot = peer.attempt;
    const Address asker{place.member, peer.boot, peer.attempt_k};
    const GrantRequest request{
        .ballot = ballot, .mode = peer.attempt_mode, .length = peer.attempt_length};
    const std::optional<Why> why = decide(scope, place.member, request, place);
    if (why != Why::none && why != Why::low) continue;
    peers_.forget_attempt(place.member);
    answer(scope, asker, ballot, *why);
  }
}

// --- helpers ---

void Lock::ask_or_attempt(Scope& scope) {
  if (attempt_) attempt_->answered = false;
  if (attempt_)
    ask(scope, false);
  else
    attempt(scope);
}

NodeId Lock::pass_target() const { return passed_ ? passed_->target : kNobody; }

const Client* Lock::first_waiting() const {
  const auto first = std::ranges::find(clients_, false, &Client::inside);
  return first == clients_.end() ? nullptr : &*first;
}

QueuePosition Lock::own_place(NodeId self) const {
  const Client* first = first_waiting();
  return first == nullptr ? QueuePosition{kLast.ticket, self} : QueuePosition{first->ticket, self};
}

Waiting Lock::announced() const {
  Waiting waiting;
  for (const Client& client : clients_)
    if (!client.inside && !waiting.full()) waiting.push_back({client.ticket, client.mode});
  return waiting;
}

Nanos Lock::length(const Rules& rules) const {
  Nanos longest{0};
  for (const Client& client : clients_)
    if (client.inside) longest = std::max(longest, client.length);
  if (longest > Nanos{0}) return longest;
  const Client* first = first_waiting();
  if (first != nullptr) return first->length;
  return length_ == Nanos{0} ? rules.lease : length_;
}

bool Lock::inside() const { return std::ranges::any_of(clients_, &Client::inside); }

bool Lock::writer_inside() const {
  return std::ranges::any_of(
      clients_, [](const Client& one) { return one.inside && one.mode == Mode::exclusive; });
}

const char* Lock::check() const {
  if (attempt_ && lease_) return "an attempt beside a lease";
  if (!lease_ && inside()) return "a client inside without a lease";
  if (lease_ && lease_->mode == Mode::shared && writer_inside())
    return "a writer in a shared lease";
  if (writer_inside() && std::ranges::count_if(clients_, &Client::inside) > 1)
    return "a writer inside with others";
  return grantor_.check();
}

}  // namespace tempo::lock::lease
