#include "protocol/lock/lease/lease_member.h"

#include <algorithm>
#include <utility>

#include "protocol/lock/lease/lease_mutation.h"

namespace tempo::lock::lease {
namespace {

// A member that lost its record does not know how often it started. The others may have missed its
// last incarnations, but not as many as this.
constexpr std::uint32_t kBootsMissed = 65'536;

Boot after(Boot boot, std::uint32_t by) { return Boot{std::to_underlying(boot) + by}; }

}  // namespace

bool MemberState::speaks(BootTime now) const {
  if (stopped()) return false;
  return running && (abstain_until <= now || mutated(Mutation::no_abstention));
}

bool MemberState::stopped() const { return retired && !mutated(Mutation::retired_votes); }

bool MemberState::asks(BootTime now) const {
  return speaks(now) || (running && mutated(Mutation::pass_to_newer_boot));
}

std::uint64_t MemberState::next_count(std::uint64_t top) const {
  const bool theirs = view().available && (top + 1) % 2 != view().slot_of(self).value_or(0) % 2 &&
                      !mutated(Mutation::counts_alike);
  return top + (theirs ? 2 : 1);
}

std::uint64_t MemberState::next_ticket(std::uint64_t network_us, std::uint64_t seen) {
  const std::uint64_t last = mutated(Mutation::tickets_forgotten) ? 0 : ticket;
  return ticket = std::max({network_us, seen + 1, last + 1});
}

// --- the record on disk ---

void MemberState::ask_write(std::uint64_t reserve) {
  asked = std::max(asked, reserve);
  unwritten = true;
}

Record MemberState::record() const {
  Record written{boot, asked, following, accepted, record_id, claims};
  if (mutated(Mutation::acceptance_not_durable)) written.next = {};
  if (mutated(Mutation::reserve_not_durable)) written.reserve = 0;
  if (mutated(Mutation::claim_not_durable)) written.claims = {};
  return written;
}

void MemberState::persisted(const Record& record) {
  if (record.boot != boot) return;  // of an earlier incarnation
  disk.boot = boot;
  disk.reserve =
      std::max(disk.reserve, mutated(Mutation::reserve_not_durable) ? asked : record.reserve);
  disk.next = record.next;
  disk.id = record.id;
  disk.claims = mutated(Mutation::claim_not_durable) ? claims : record.claims;
  running = true;
}

void MemberState::note_proposal(const Proposal& proposal) {
  if (proposal.count > known.count && proposal.view.number == view().number + 1) known = proposal;
}

// --- section 11: network time ---

void MemberState::set_network_time(Nanos earliest, Nanos latest, BootTime now) {
  if (!rules.trust_time || latest < earliest) return;
  if (mutated(Mutation::time_without_bound)) earliest = latest = earliest + (latest - earliest) / 2;
  time = {earliest, latest, now + rules.lease};
}

// A holder uses the lease for at most L of true time, while network time advances by at most
// KEEP(L).
Nanos MemberState::over_at(BootTime now, Nanos length) const {
  if (!rules.trust_time || time.until <= now) return Nanos{0};
  const Nanos age = now - (time.until - rules.lease);
  return time.latest + rules.stretch(age) + rules.keep(length);
}

Nanos MemberState::over_in(Nanos over_at, BootTime now) const {
  if (!rules.trust_time || time.until <= now || over_at == Nanos{0}) return Nanos::max();
  const Nanos age = now - (time.until - rules.lease);
  const Nanos left = over_at - (time.earliest + rules.shrink(age));
  return left <= Nanos{0} ? Nanos{0} : rules.stretch(std::min(left, 2 * rules.longest));
}

// Accepted and known proposals were for this view, or are void.
void MemberState::enter(const View& view, BootTime now) {
  voted_before = disk.view.votes_for(self);
  disk.view = view;
  answered = 0;
  disk.next = accepted = known = {};
  settled_at = now + (mutated(Mutation::view_unsettled) ? Nanos{0} : rules.keep(rules.longest));
}

// --- inputs ---

Member::Member(const Start& start)
    : state_{.self = start.self, .rules = start.rules},
      rebooted_(start.rebooted),
      lost_(start.lost),
      blank_(!start.record.has_value()) {
  CHECK(index(start.self) < kMaxNodes && start.rules.lease <= start.rules.longest);
  state_.disk = start.record.value_or(Record{.reserve = start.first, .view = start.view});
  state_.record_id = state_.disk.id;
  state_.claims = state_.disk.claims;
  for (const Claim& claim : state_.claims) newest_[claim.member] = {.life = claim.life};
  state_.following = state_.view();
  state_.note_proposal(state_.disk.next);
  state_.accepted = state_.known;
}

void Member::start(Turn<Member>& turn) {
  const BootTime since = rebooted_ ? BootTime{} : turn.now;
  const Rules& rules = state_.rules;
  const Nanos length = mutated(Mutation::abstains_for_own_length) ? rules.lease : rules.longest;
  state_.abstain_until = since + rules.keep(length);
  if (blank_) {
    nonce_ = 1 + turn.draw.below(state_.rules.nonces);
    state_.record_id = RecordId{nonce_};
    query(turn);
  } else {
    begin_incarnation(after(state_.disk.boot, mutated(Mutation::boot_not_raised) ? 0 : 1));
  }
  set_alarm();
  write(turn);
}

void Member::receive(Turn<Member>& turn, NodeId from, const Message& message) {
  take(turn, from, message);
  write(turn);
}

void Member::take(Turn<Member>& turn, NodeId from, const Message& message) {
  // Ignore messages from outside that name this member as sender.
  if (index(from) >= kMaxNodes || from == state_.self || state_.stopped()) return;
  if (message.kind == Kind::query) return receive_query(turn, from, message);
  if (message.kind == Kind::record) return receive_record(turn, from, message);
  const bool an_answer =
      message.kind == Kind::grant || message.kind == Kind::refuse || message.kind == Kind::accept;
  if (!state_.running) return;
  if (message.view != state_.view().number) return receive_other_view(turn, from, message);
  const Sender sender{{message.record, message.boot}, message.process};
  if (!continues(from, sender)) return refuse(turn, from, sender.life);
  if (an_answer && message.to_boot != state_.boot) return;
  note_life(from, sender);
  learn_claims(turn, message.claims);
  if (state_.stopped()) return;
  if (message.kind == Kind::propose) return receive_propose(turn, from, message);
  if (message.kind == Kind::accept) return receive_accept(from, message);
  on_lock(turn, message.lock,
          [&](Lock& lock, Scope& scope) { lock.receive(scope, from, message); });
}

void Member::on_timer(Turn<Member>& turn, TimerId /*timer*/) {
  if (blank_ && query_at_ <= turn.now) query(turn);
  wake_locks(turn);
  if (change_.again_at <= turn.now) propose_again(turn);
  set_alarm();
  write(turn);
}

void Member::wake_locks(Turn<Member>& turn) {
  std::vector<std::size_t> due;
  deadlines_.find(turn.now, due);
  const auto wake = [](Lock& lock, Scope& scope) { lock.on_timer(scope); };
  for (const std::size_t lock : due) on_lock(turn, LockId{static_cast<std::uint32_t>(lock)}, wake);
  if (view_lock_.due(state_.rules) <= turn.now) on_lock(turn, kViewLock, wake);
}

void Member::command(Turn<Member>& turn, const Command& command) {
  switch (command.kind) {
    case Command::Kind::acquire:
      on_lock(turn, command.lock, [&](Lock& lock, Scope& scope) { lock.acquire(scope, command); });
      break;
    case Command::Kind::release:
      on_lock(turn, command.lock,
              [&](Lock& lock, Scope& scope) { lock.release(scope, command.client); });
      break;
    case Command::Kind::resume:
      on_lock(turn, command.lock,
              [&](Lock& lock, Scope& scope) { lock.take_back(scope, command); });
      break;
    case Command::Kind::persisted:
      state_.persisted(command.record);
      if (state_.running && command.record.view.number > state_.view().number)
        enter_view(turn, command.record.view);
      answer_proposal(turn);
      answer_claim(turn);
      resume_locks(turn);
      break;
    case Command::Kind::change:
      request_change(turn, command);
      break;
    case Command::Kind::time:
      state_.set_network_time(command.earliest, command.latest, turn.now);
      break;
    case Command::Kind::no_change:
      change_ = {};
      on_lock(turn, kViewLock, [](Lock&, Scope&) {});
      break;
    case Command::Kind::retire:
      retire();
      break;
  }
  write(turn);
}

void Member::write(Turn<Member>& turn) {
  if (std::exchange(state_.unwritten, false)) turn.out.persist(state_.record());
}

void Member::finish_step(Turn<Member>& turn, LockId id, Lock& lock) {
  if (lock.forgettable()) {
    if (!mutated(Mutation::floor_forgotten)) state_.floor = std::max(state_.floor, lock.top());
    lock = Lock{};
  }
  if (id == kViewLock)
    advance_change(turn);
  else
    deadlines_.set(std::to_underlying(id), lock.due(state_.rules));
  set_alarm();
}

Member::Sender Member::newest_of(NodeId member) const {
  const Sender* const newest = newest_.find(member);
  return newest == nullptr ? Sender{} : *newest;
}

bool Member::forget(Turn<Member>& turn, LockId id) {
  const Lock* known = lock(id);
  if (known == nullptr || known->forgettable()) return true;
  if (known->lease() || known->attempt() || !known->clients().empty()) return false;
  if (std::ranges::any_of(known->grantor().promises(),
                          [&](const Promise& promise) { return promise.until > turn.now; }))
    return false;
  on_lock(turn, id, [](Lock& touched, Scope& scope) { touched.on_timer(scope); });
  write(turn);
  return lock(id)->forgettable();
}

void Member::resume_locks(Turn<Member>& turn) {
  const auto resume = [](Lock& lock, Scope& scope) { lock.resume(scope); };
  for (std::size_t i = 0; i < locks_.size(); ++i)
    if (!locks_[i].forgettable()) on_lock(turn, LockId{static_cast<std::uint32_t>(i)}, resume);
  on_lock(turn, kViewLock, resume);
}

void Member::set_alarm() {
  alarm_ =
      std::min({query_at_, deadlines_.first(), view_lock_.due(state_.rules), change_.again_at});
}

// --- section 8: incarnations ---

void Member::begin_incarnation(Boot boot) {
  state_.boot = boot;
  state_.floor = std::max(state_.floor, state_.disk.reserve);
  state_.ask_write(state_.floor + state_.rules.block);
}

void Member::query(Turn<Member>& turn) {
  query_at_ = turn.now + state_.rules.retry();
  turn.out.broadcast({.kind = Kind::query,
                      .lock = kViewLock,
                      .view = state_.view().number,
                      .boot = claim_,
                      .record = state_.record_id,
                      .nonce = nonce_});
  if (!may_begin()) return;  // a single voter has no other member to ask
  blank_ = false;
  query_at_ = kNever;
  begin_incarnation(claim_);
}

void Member::receive_query(Turn<Member>& turn, NodeId from, const Message& message) {
  if (!blank_ && !state_.running) return;  // a record counts when it is written
  if (blank_ && lost_) return;             // a lost one may have had votes: it counts as not heard
  const Sender claimant{{message.record, message.boot}, message.process};
  const bool claims =
      message.boot != Boot{} && continues(from, claimant) &&
      (blank_ || message.boot >= Boot{kBootsMissed} || mutated(Mutation::claim_of_low_boot));
  if (claims) note_life(from, claimant);
  const Claim claim{from, claimant.life};
  const bool keeps = claims && !blank_ && state_.view().votes_for(from);
  if (keeps && std::ranges::find(state_.disk.claims, claim) == state_.disk.claims.end()) {
    keep_claim(claim);
    state_.ask_write(state_.asked);
    owed_.erase_if([&](const Owed& owed) { return owed.to == from; });
    owed_.push_newest({from, message.nonce});
    return;
  }
  turn.out.send(from, record_message(message.nonce, from));
}

Message Member::record_message(std::uint64_t nonce, NodeId to) const {
  return {.kind = Kind::record,
          .lock = kViewLock,
          .view = state_.view().number,
          .boot = state_.boot,
          .record = state_.record_id,
          .to_boot = newest_of(to).life.boot,
          .top = blank_ ? state_.disk.reserve : state_.floor,
          .nonce = nonce,
          .reserve = blank_ ? 0 : state_.disk.reserve,
          .set = state_.view(),
          .next = state_.accepted,
          .claims = state_.disk.claims};
}

void Member::receive_record(Turn<Member>& turn, NodeId from, const Message& message) {
  learn_claims(turn, message.claims);
  if (state_.stopped()) return;
  // The sender knows a later incarnation of this member, whose record is therefore an old copy.
  if (!blank_ && message.to_boot > state_.boot) return retire_and_notify(turn);
  if (message.reserve != 0 && message.set.number > state_.following.number) {
    if (!blank_) return adopt(message.set, message.top);
    state_.disk.view = state_.following = message.set;
    state_.accepted = state_.known = {};
    with_record_ = without_ = 0;
    state_.claims.erase_if(
        [&](const Claim& claim) { return !message.set.votes_for(claim.member); });
  }
  if (!blank_ || message.nonce != nonce_ || message.view != state_.view().number) return;
  if (!state_.view().votes_for(from)) return;  // a member without a vote knows only its own counts
  if (!confirms(message)) {
    if (answers_earlier_claim(message)) return;
    // The sender remembers a later incarnation, or does not know how many it has missed.
    if (const Boot least = after(message.to_boot, kBootsMissed); claim_ < least) {
      claim_ = least;
      with_record_ = 0;
      query(turn);
      set_alarm();
    }
    return;
  }
  const Voters bit = state_.view().bit_of(from);
  (message.reserve == 0 ? without_ : with_record_) |= bit;
  if (message.reserve != 0) without_ &= static_cast<Voters>(~bit);
  state_.disk.reserve =
      std::max(state_.disk.reserve, message.reserve != 0 ? message.reserve : message.top);
  state_.note_proposal(message.next);
  state_.accepted = state_.known;  // this member may have accepted it too
  if (!may_begin()) return;
  blank_ = false;
  query_at_ = kNever;
  // Leases for which another machine with this identity has voted end before this one votes.
  if (with_record_ != 0 && !mutated(Mutation::claim_votes_at_once))
    state_.abstain_until =
        std::max(state_.abstain_until, turn.now + state_.rules.keep(state_.rules.longest));
  begin_incarnation(claim_);
  set_alarm();
}

// Either no other voter has a record; or this member and the voters not heard from cannot have been
// a quorum, so a voter that was heard from has accepted every count ever held. A voter that says it
// has no record has never voted. If each of two voters is a quorum, the other must be heard from.
bool Member::may_begin() const {
  const View& view = state_.view();
  const auto others = static_cast<Voters>(view.voters() & ~view.bit_of(state_.self));
  if ((others & ~without_) == 0 || mutated(Mutation::blank_at_once)) return true;
  const auto unheard = static_cast<Voters>(others & ~with_record_ & ~without_);
  if (view.available) return unheard == 0;
  return !view.quorum(static_cast<Voters>(unheard | view.bit_of(state_.self)));
}

// --- section 8: claims ---

// A later incarnation, or the newest one. Another process with the newest boot began with an old
// copy of the record.
bool Member::continues(NodeId from, const Sender& sender) const {
  const Sender known = newest_of(from);
  const bool same_process =
      known.process == 0 || sender.process == 0 || known.process == sender.process;
  return sender.life.boot > known.life.boot || (sender.life == known.life && same_process) ||
         mutated(Mutation::any_life_continues);
}

// A sender that began with an old copy, or that does not know of a newer claim, must stop.
void Member::refuse(Turn<Member>& turn, NodeId from, const Life& life) const {
  const Life known = newest_of(from).life;
  const bool claimed =
      std::ranges::find(state_.disk.claims, from, &Claim::member) != state_.disk.claims.end();
  if (!claimed && life.boot >= known.boot && life != known) return;
  Message message = record_message(0, from);
  message.to_boot = std::max(known.boot, after(life.boot, 1));
  turn.out.send(from, message);
}

// Grants with another record no longer count: that was another machine. A restarted one keeps its
// promises.
void Member::note_life(NodeId member, const Sender& newest) {
  const Life known = newest_of(member).life;
  newest_[member] = newest;
  const auto slot = state_.view().slot_of(member);
  if (!slot || known.record == newest.life.record || mutated(Mutation::claim_keeps_grants)) return;
  for (Lock& lock : locks_) lock.forget_grant(*slot);
  view_lock_.forget_grant(*slot);
  change_.accepted_by &= static_cast<Voters>(~state_.view().bit_of(member));
}

void Member::keep_claim(const Claim& claim) {
  state_.claims.erase_if([&](const Claim& kept) { return kept.member == claim.member; });
  state_.claims.push_back(claim);
}

// What another member has confirmed. A member without a record keeps it for its own.
void Member::learn_claims(Turn<Member>& turn, const Claims& claims) {
  if (mutated(Mutation::claims_not_told)) return;
  for (const Claim& claim : claims) {
    if (claim.member == state_.self) {
      if (blank_ || claim.life.boot <= state_.boot) continue;
      return retire_and_notify(turn);
    }
    if (claim.life.boot <= newest_of(claim.member).life.boot) continue;
    note_life(claim.member, {.life = claim.life});
    if (blank_ && state_.view().votes_for(claim.member)) keep_claim(claim);
  }
}

// A claim is confirmed only when it is on disk.
void Member::answer_claim(Turn<Member>& turn) {
  const auto on_disk = [&](const Owed& owed) {
    return std::ranges::find(state_.disk.claims, owed.to, &Claim::member) !=
           state_.disk.claims.end();
  };
  for (const Owed& owed : owed_)
    if (on_disk(owed)) turn.out.send(owed.to, record_message(owed.nonce, owed.to));
  owed_.erase_if(on_disk);
}

// A voter without a record has nothing to confirm, and nobody keeps the claim of a member without a
// vote.
bool Member::confirms(const Message& record) const {
  if (record.reserve == 0) return true;
  if (!state_.view().votes_for(state_.self)) return record.to_boot == claim_;
  const Claim claim{state_.self, {state_.record_id, claim_}};
  return std::ranges::find(record.claims, claim) != record.claims.end() ||
         mutated(Mutation::claim_unconfirmed);
}

// The answer to the present claim follows. If the earlier one counted as what another machine with
// this identity had, each answer would raise the claim without end.
bool Member::answers_earlier_claim(const Message& record) const {
  if (mutated(Mutation::own_claim_raises)) return false;
  if (!state_.view().votes_for(state_.self))
    return claim_ >= Boot{kBootsMissed} && record.to_boot < claim_;
  const Claim earlier{state_.self, {state_.record_id, record.to_boot}};
  return std::ranges::find(record.claims, earlier) != record.claims.end();
}

// The lease of this member, if any, ends by itself: its grantors answer no more.
void Member::retire() {
  state_.retired = true;
  query_at_ = kNever;
  set_alarm();
}

void Member::retire_and_notify(Turn<Member>& turn) {
  retire();
  turn.out.notify({.kind = Notice::Kind::retired});
}

const char* Member::check() const {
  for (const Lock& lock : locks_)
    if (const char* broken = lock.check()) return broken;
  return view_lock_.check();
}

static_assert(CheckableMachine<Member>);

}  // namespace tempo::lock::lease
