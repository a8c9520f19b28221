#include "protocol/group/leadership.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace tempo::groups {

// --- inputs ---

void Leadership::start(Turn<Leadership>& /*turn*/) {}

void Leadership::receive(Turn<Leadership>& turn, NodeId from, const Heartbeat& heartbeat) {
  if (from == self_) return;
  begin(turn.now);
  learn(turn.now, from, heartbeat);
  on_heartbeat(turn, from, heartbeat);
  finish(turn);
}

void Leadership::on_timer(Turn<Leadership>& turn, TimerId timer) {
  if (turn.now < timers_.at(timer)) return;
  const auto name = static_cast<Timer>(timer);
  begin(turn.now);
  timers_.stop(name);
  switch (name) {
    case Timer::heartbeat:
      send_heartbeat(turn);
      break;
    case Timer::silence:
      leader_ = kNobody;
      happen(turn, Event::leader_gone);
      break;
    case Timer::election:
      if (state_ == State::elect) on_no_result(turn);
      break;
    case Timer::patience:
      happen(turn, Event::patience_over);
      break;
    case Timer::majority:
      happen(turn, Event::no_majority);
      break;
    case Timer::outdone:
      if (clearly_better(best())) happen(turn, Event::outdone);
      break;
    case Timer::heir:
      happen(turn, Event::heir_unfit);
      break;
    case Timer::rest:
      happen(turn, Event::rest_over);
      break;
    case Timer::change:
      announce(turn);
      break;
    case Timer::count:
      break;
  }
  finish(turn);
}

void Leadership::command(Turn<Leadership>& turn, const Command& command) {
  begin(turn.now);
  switch (command.kind) {
    case Command::Kind::stand:
      min_stay_ = command.min_stay;
      once_ = command.once;
      joined_at_ = turn.now;
      over_at_ = kNever;
      take_offer(turn, command.capacity);
      happen(turn, turn.now < rest_until_ ? Event::stand_too_soon : Event::stand);
      break;
    case Command::Kind::offer:
      take_offer(turn, command.capacity);
      break;
    case Command::Kind::withdraw:
      happen(turn, Event::withdraw);
      break;
    case Command::Kind::finish:
      happen(turn, acts() ? Event::finish : Event::withdraw);
      break;
    case Command::Kind::resign:
      happen(turn, Event::resign);
      break;
    case Command::Kind::stopped:
      happen(turn, Event::stopped);
      break;
    case Command::Kind::elected:
      if (command.node == kNobody)
        on_no_result(turn);
      else
        on_result(turn, command.node == self_);
      break;
    case Command::Kind::defeated:
      on_result(turn, false);
      break;
    case Command::Kind::granted:
      if (state_ != State::ask) break;
      term_ = command.token;
      happen(turn, Event::granted);
      break;
    case Command::Kind::resumed:
      term_ = std::max(term_, command.token);
      happen(turn, Event::resumed);
      break;
    case Command::Kind::lost:
      happen(turn, Event::lost);
      break;
  }
  finish(turn);
}

// --- the table ---

void Leadership::happen(Turn<Leadership>& turn, Event event, NodeId about) {
  const Row* row = StateTable<kRows>::take_row(
      state_, event, [&](State next) { enter(next); },
      [&](Verb verb) { perform(turn, verb, about); });
  if (row != nullptr && row->from != row->to) send_heartbeat(turn);
}

// The only function that assigns state_.
void Leadership::enter(State next) {
  state_ = next;
  for (const Timer timer : {Timer::election, Timer::patience, Timer::majority})
    timers_.stop(timer);  // each belongs to one state
}

void Leadership::perform(Turn<Leadership>& turn, Verb verb, NodeId about) {
  using Kind = Notice::Kind;
  const BootTime now = turn.now;
  switch (verb) {
    case Verb::join:
      turn.out.notify({.kind = Kind::offer, .capacity = bid_});
      break;
    case Verb::leave:
      turn.out.notify({.kind = Kind::offer, .capacity = kNotCandidate});
      break;
    case Verb::expect_leader:
      heard_at_ = now;
      timers_.set(Timer::silence, now + rules_.silence());
      break;
    case Verb::hold_election:
      timers_.set(Timer::election, now + rules_.longest_election());
      turn.out.notify({.kind = Kind::hold});
      break;
    case Verb::ask_lease:
      timers_.set(Timer::majority, now + rules_.no_majority());
      turn.out.notify({.kind = Kind::ask});
      if (mutated(Mutation::leads_without_lease))
        turn.out.notify({.kind = Kind::leads, .token = term_});
      break;
    case Verb::drop_lease:
      if (leader_ == self_) leader_ = kNobody;
      turn.out.notify({.kind = Kind::drop});
      break;
    case Verb::wait_by_rank:
      if (mutated(Mutation::nobody_stands_by)) break;
      timers_.set(Timer::patience, now + rank() * patience(now));
      break;
    case Verb::reign:
      leader_ = reported_leader_ = self_;
      heir_ = kNobody;
      better_since_ = kNever;
      stay_until_ = now + (mutated(Mutation::no_min_stay) ? Nanos{0} : min_stay_);
      timers_.stop(Timer::silence);
      turn.out.notify({.kind = Kind::leads, .token = term_});
      break;
    case Verb::invite_better:
    case Verb::invite_best:
      heir_ = best().node;
      timers_.set(Timer::heir, now + rules_.invitation());
      if (state_ == State::lead) send_heartbeat(turn);
      break;
    case Verb::forget_heir:
      heir_ = kNobody;
      better_since_ = kNever;
      break;
    case Verb::stop_user:
      turn.out.notify({.kind = Kind::stop});
      if (mutated(Mutation::passes_while_acting)) turn.out.notify({.kind = Kind::drop});
      break;
    case Verb::count_loss:
      losses_.push_newest(now);
      break;
    case Verb::notify_lost:
      if (leader_ == self_) leader_ = kNobody;
      turn.out.notify({.kind = Kind::lost});
      break;
    case Verb::notify_no_majority:
      turn.out.notify({.kind = Kind::no_majority});
      break;
    case Verb::notify_job_done:
      turn.out.notify({.kind = Kind::job_done, .node = about});
      break;
    case Verb::announce_job_done:
      over_at_ = now;
      break;
    case Verb::start_rest:
      rest_until_ = now + min_stay_;
      timers_.set(Timer::rest, rest_until_);
      break;
  }
}

// --- before and after every input ---

void Leadership::forget_silent(BootTime now) {
  std::erase_if(candidates_, [&](const Candidate& one) { return one.until <= now; });
}

BootTime Leadership::next_silent() const {
  BootTime next = kNever;
  for (const Candidate& one : candidates_) next = std::min(next, one.until);
  return next;
}

void Leadership::begin(BootTime now) {
  forget_silent(now);
  if (over_at_ != kNever && over_at_ + rules_.repeat_job_done() <= now) over_at_ = kNever;
}

void Leadership::finish(Turn<Leadership>& turn) {
  check_rivals(turn);
  if (!sends_heartbeats(turn.now))
    timers_.stop(Timer::heartbeat);
  else if (!timers_.running(Timer::heartbeat))
    timers_.set(Timer::heartbeat,
                turn.now + (acts() || over_at_ != kNever ? rules_.leader_interval()
                                                         : rules_.candidate_interval()));
  if (leader_ == reported_leader_ || acts()) return;
  reported_leader_ = leader_;
  turn.out.notify({.kind = Notice::Kind::follows, .node = leader_, .token = term_});
}

// Checks whether another candidate is clearly better than this leader, and since when.
void Leadership::check_rivals(Turn<Leadership>& turn) {
  timers_.stop(Timer::outdone);
  if (state_ != State::lead || heir_ == kNobody) timers_.stop(Timer::heir);
  if (state_ != State::lead || heir_ != kNobody) return;
  if (!clearly_better(best())) {
    better_since_ = kNever;
    return;
  }
  if (better_since_ == kNever) better_since_ = turn.now;
  const Nanos hold = mutated(Mutation::no_hold) ? Nanos{0} : rules_.hold();
  timers_.set(Timer::outdone, std::max(stay_until_, better_since_ + hold));
}

// --- heartbeats of others ---

void Leadership::learn(BootTime now, NodeId from, const Heartbeat& heartbeat) {
  const auto place = std::ranges::lower_bound(candidates_, from, {},
                                              [](const Candidate& one) { return one.bid.node; });
  const bool known = place != candidates_.end() && place->bid.node == from;
  if (heartbeat.capacity <= kNotCandidate) {
    if (known) candidates_.erase(place);
    return;
  }
  const Candidate candidate{{heartbeat.capacity, from}, now + rules_.fresh()};
  if (known)
    *place = candidate;
  else if (candidates_.size() < kMaxCandidates)
    candidates_.insert(place, candidate);
}

// Maps a heartbeat to an event.
void Leadership::on_heartbeat(Turn<Leadership>& turn, NodeId from, const Heartbeat& heartbeat) {
  // A candidate that already stood when the job was done need not do it.
  if (heartbeat.over > kNotOver && once_ && joined_at_ + heartbeat.over <= turn.now)
    happen(turn, Event::job_done, from);
  if (acts()) {
    if (from == heir_ && heartbeat.asks)
      happen(turn,
             clearly_better({heartbeat.capacity, from}) ? Event::heir_asks : Event::heir_unfit);
    return;
  }
  const bool old = heartbeat.term < term_ && !mutated(Mutation::old_terms_believed);
  if (heartbeat.leads && !old) {
    term_ = heartbeat.term;
    leader_ = from;
    heard_at_ = turn.now;
    if (!mutated(Mutation::follows_for_ever))
      timers_.set(Timer::silence, turn.now + rules_.silence());
    happen(turn, heartbeat.heir == self_ ? Event::invited : Event::leader_shows);
  } else if (!heartbeat.leads && from == leader_) {
    leader_ = kNobody;
    if (heartbeat.heir == kNobody) {
      timers_.stop(Timer::silence);
      happen(turn, Event::leader_gone);
    } else {
      timers_.set(
          Timer::silence,
          turn.now + rules_.silence());  // the heir appears within this time, or no host does
      if (heartbeat.heir == self_) happen(turn, Event::invited);
    }
  }
}

// While a leader is heard, an election held by others does not concern this host.
void Leadership::on_result(Turn<Leadership>& turn, bool we_are_elected) {
  if (state_ == State::follow && leader_ != kNobody && turn.now < heard_at_ + rules_.doubt())
    return;
  happen(turn, we_are_elected ? Event::elected_self : Event::elected_other);
}

// The known candidates decide an election that had no result.
void Leadership::on_no_result(Turn<Leadership>& turn) { on_result(turn, own() > best()); }

// --- the own candidacy ---

void Leadership::take_offer(Turn<Leadership>& turn, Capacity capacity) {
  offered_ = std::max<Capacity>(capacity, 0);
  if (turn.now >= change_at_ || mutated(Mutation::capacity_at_will))
    announce(turn);
  else
    timers_.set(Timer::change, change_at_);
}

void Leadership::announce(Turn<Leadership>& turn) {
  timers_.stop(Timer::change);
  if (bid_ == offered_) return;
  bid_ = offered_;
  change_at_ = turn.now + min_stay_;
  if (!stands()) return;
  turn.out.notify({.kind = Notice::Kind::offer, .capacity = bid_});
  send_heartbeat(turn);
}

bool Leadership::sends_heartbeats(BootTime now) const {
  return stands() || (over_at_ != kNever && now < over_at_ + rules_.repeat_job_done());
}

Heartbeat Leadership::heartbeat(BootTime now) const {
  return {.capacity = eligible() ? bid_ : kNotCandidate,
          .leads = acts(),
          .asks = state_ == State::ask,
          .term = acts() ? term_ : kNoToken,
          .heir = heir_,
          .over = over_at_ == kNever ? kNotOver : now - over_at_};
}

void Leadership::send_heartbeat(Turn<Leadership>& turn) {
  timers_.stop(Timer::heartbeat);
  turn.out.broadcast(heartbeat(turn.now));
  if (!acts()) heir_ = kNobody;  // a former leader sends it once
}

// --- comparing candidates ---

Bid Leadership::best() const {
  Bid best;
  for (const Candidate& one : candidates_)
    if (best.node == kNobody || one.bid > best) best = one.bid;
  return best;
}

bool Leadership::clearly_better(const Bid& bid) const {
  if (bid.node == kNobody) return false;
  if (mutated(Mutation::equal_unseats)) return bid.capacity >= bid_;
  const Capacity margin =
      mutated(Mutation::no_margin)
          ? 0
          : bid_ / 100 * rules_.margin_percent + bid_ % 100 * rules_.margin_percent / 100;
  const Capacity max = std::numeric_limits<Capacity>::max();
  return bid_ <= max - margin && bid.capacity > bid_ + margin;
}

// Number of better candidates, at least 1: a host that was not elected is never first.
std::int64_t Leadership::rank() const {
  const auto better =
      std::ranges::count_if(candidates_, [&](const Candidate& one) { return one.bid > own(); });
  return std::max<std::int64_t>(better, 1);
}

// D, twice as long for a host that cannot keep the lease.
Nanos Leadership::patience(BootTime now) const {
  const bool unsteady = losses_.full() && now - losses_.front() <= 10 * min_stay_;
  return unsteady ? 2 * rules_.patience() : rules_.patience();
}

// The last announced capacity is remembered as long as it must not change.
bool Leadership::forgettable(BootTime now) const {
  const auto gone = [&](const Candidate& one) { return one.until <= now; };
  return state_ == State::watch && leader_ == kNobody && change_at_ <= now && rest_until_ <= now &&
         std::ranges::all_of(candidates_, gone) && timers_.first() == kNever;
}

const char* Leadership::check() const {
  if (acts() != (leader_ == self_)) return "acting state and leader do not match";
  if (acts() && term_ == kNoToken) return "leads without a lease";
  if (state_ == State::ask && !timers_.running(Timer::majority)) return "asks without a timer";
  if (state_ == State::elect && !timers_.running(Timer::election))
    return "holds an election without a timer";
  if (state_ == State::follow && !timers_.running(Timer::silence)) return "follows without a timer";
  if (stands() && bid_ <= kNotCandidate) return "a candidate without a capacity";
  return nullptr;
}

std::string_view name_of(State state) {
  switch (state) {
    case State::watch:
      return "watch";
    case State::follow:
      return "follow";
    case State::elect:
      return "elect";
    case State::stand_by:
      return "stand-by";
    case State::ask:
      return "ask";
    case State::lead:
      return "lead";
    case State::yield:
      return "yield";
    case State::retire:
      return "retire";
    case State::rest:
      return "rest";
    case State::count:
      break;
  }
  CHECK(false);
  return {};
}

}  // namespace tempo::groups
