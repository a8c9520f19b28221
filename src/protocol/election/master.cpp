#include "protocol/election/master.h"

#include <algorithm>
#include <array>

#include "protocol/election/master_mutation.h"

namespace tempo::election {
namespace {

constexpr std::uint32_t kMaxBackoff = 16;
constexpr int kRoundsToOverlook = 2;  // Adjtime intervals without a correction
constexpr int kRoundsToGiveUp = 8;    // Adjtime intervals without a message to this node

// Whether a timer may run in a state; entering the state stops all others.
constexpr bool belongs_there(Timer timer, State state) {
  switch (timer) {
    case Timer::startup:
      return state == State::startup;
    case Timer::no_master:
      return state == State::no_master;
    case Timer::sync:
    case Timer::loop:
      return state == State::master;
    case Timer::election:
      return state == State::slave || state == State::accept;
    case Timer::candidate:
      return state == State::candidate;
    case Timer::accept:
      return state == State::accept;
    case Timer::conflict:
      return state == State::conflict;
    case Timer::consistency:
      return state == State::consistency;
    case Timer::repeat:
      return state == State::startup || state == State::candidate;
    case Timer::retransmit:
      return true;
    case Timer::count:
      break;
  }
  return false;
}

constexpr std::size_t kTimers = Timers<Timer>::kCount;
constexpr auto kBelongs = [] {
  std::array<std::array<bool, kTimers>, kStates> all{};
  for (std::size_t state = 0; state < kStates; ++state)
    for (std::size_t timer = 0; timer < kTimers; ++timer)
      all[state][timer] = belongs_there(static_cast<Timer>(timer), static_cast<State>(state));
  return all;
}();

bool belongs(Timer timer, State state) {
  return kBelongs[static_cast<std::size_t>(state)][static_cast<std::size_t>(timer)];
}

constexpr bool collects(State state) {
  return state == State::candidate || state == State::master || state == State::conflict;
}

}  // namespace

void MasterElection::start(Turn<MasterElection>& turn) {
  Step step{turn};
  draw_election_span(step);
  act(step, table::begin);
}

void MasterElection::receive(Turn<MasterElection>& turn, NodeId from, const Message& message) {
  if (ended_ || from == self_) return;
  Step step{turn, from, &message};
  seen_ = std::max(seen_, message.epoch.round);
  if (message.kind == Kind::ack) {
    on_ack(step);
  } else {
    if (reliable(message.kind)) {
      const bool correction = message.kind == Kind::adjtime || message.kind == Kind::settime;
      const bool lower = !rules_->variant.no_epoch && message.epoch < followed_ &&
                         !mutated(Mutation::obey_lower_epoch);
      if (correction && lower) {
        // No Ack: Stale replaces it. A node that is not master sends Stale through the table.
        if (ruling()) send(step, from, make(Kind::stale));
      } else {
        if (!mutated(Mutation::no_ack)) {
          Message ack = make(Kind::ack);
          ack.answers = message.sequence;
          ack.subject_incarnation = message.incarnation;
          send(step, from, ack);
        }
        if (!courier_.fresh(from, incarnation_of(message), message.sequence) &&
            !mutated(Mutation::apply_twice))
          return;
      }
    }
    if (const std::optional<Event> event = event_of(step)) happen(step, *event);
  }
  timers_.set(Timer::retransmit, courier_.due());
}

void MasterElection::on_timer(Turn<MasterElection>& turn, TimerId id) {
  const auto timer = static_cast<Timer>(id);
  const Instant due = timers_.at(id);
  if (ended_ || turn.now < due) return;
  timers_.stop(timer);
  Step step{turn};
  // A wait for answers that is overdue by this much proves nothing: answers may lie unread, or this
  // machine was suspended.
  const bool overdue = turn.now - due > timing().candidate && !mutated(Mutation::no_overdue);
  switch (timer) {
    case Timer::startup:
      happen(step, rival_ ? Event::startup_timeout_rival : Event::startup_timeout);
      break;
    case Timer::no_master:
      // An ineligible node asks again until it finds a master.
      happen(step, overdue || priority_ == kIneligible ? Event::no_master_overdue
                                                       : Event::no_master_timeout);
      break;
    case Timer::sync:
      happen(step, Event::sync_timeout);
      break;
    case Timer::loop:
      happen(step, Event::loop_timeout);
      break;
    case Timer::election:
      happen(step, state_ == State::slave && priority_ == kIneligible ? Event::election_timeout_idle
                                                                      : Event::election_timeout);
      break;
    case Timer::candidate:
      happen(step, overdue ? Event::candidate_overdue : Event::candidate_timeout);
      break;
    case Timer::accept:
      happen(step, Event::accept_timeout);
      break;
    case Timer::conflict:
      happen(step, Event::conflict_timeout);
      break;
    case Timer::consistency:
      happen(step, Event::consistency_timeout);
      break;
    case Timer::repeat:
      repeat_call(step);
      break;
    case Timer::retransmit:
      retransmit(step);
      break;
    case Timer::count:
      CHECK(false);
  }
  timers_.set(Timer::retransmit, courier_.due());
}

void MasterElection::command(Turn<MasterElection>& turn, Command command) {
  if (ended_) return;
  Step step{turn};
  switch (command) {
    case Command::stand:
      if (priority_ != kIneligible) happen(step, Event::stand);
      break;
    case Command::resign:
      happen(step, Event::resign);
      break;
    case Command::claim:
      if (priority_ != kIneligible) happen(step, Event::claim);
      break;
    case Command::stay_out:
      priority_ = kIneligible;
      if (state_ == State::candidate) happen(step, Event::candidate_overdue);
      happen(step, Event::resign);
      break;
    case Command::come_back:
      priority_ = configured_priority_;
      break;
    case Command::stop:
      happen(step, Event::stop);
      break;
  }
  timers_.set(Timer::retransmit, courier_.due());
}

// --- executing the table ---

void MasterElection::happen(Step& step, Event event) {
  const bool rules = state_ == State::master;
  if (event == Event::refuse && mutated(Mutation::ignore_refuse)) return;
  if (event == Event::masterreq && rules && mutated(Mutation::master_ignores_masterreq)) return;
  if (event == Event::election && rules && mutated(Mutation::master_ignores_election)) return;
  MasterTable::take_row(
      state_, event, [&](State next) { enter(next); }, [&](Action action) { act(step, action); });
  if (state_ != State::consistency) first_ = kNobody;
}

// The only function that assigns state_. It also ends everything that belongs to the old state.
void MasterElection::enter(State next) {
  const State last = state_;
  state_ = next;
  for (std::uint8_t i = 0; i < Timers<Timer>::kCount; ++i)
    if (!belongs(static_cast<Timer>(i), next)) timers_.stop(static_cast<Timer>(i));
  const bool stops_ruling = collects(last) && !(next == State::master || next == State::conflict);
  const bool leaves_accept = last == State::accept;
  const bool becomes_master = next == State::master;
  if (stops_ruling || leaves_accept || becomes_master) {
    courier_.withdraw([&](NodeId, const Message& message) {
      switch (message.kind) {
        case Kind::adjtime:
        case Kind::settime:
        case Kind::quit:
        case Kind::conflict:
          return stops_ruling;
        case Kind::accept:
          return leaves_accept || becomes_master;
        case Kind::refuse:
          return becomes_master;
        default:
          return false;
      }
    });
  }
  if (next != State::accept) candidate_ = kNobody;
  if (!collects(next) && (collects(last) || last == State::startup)) {
    list_.clear();
    answering_.clear();
    call_ = kNoSequence;
    repeats_left_ = 0;
    candidacy_ends_ = Instant{};
    loop_not_before_ = Instant{};
  }
  if (next != State::startup) rival_ = false;
}

void MasterElection::act(Step& step, Action action) {
  switch (action.verb) {
    case Verb::broadcast: {
      auto kind = static_cast<Kind>(action.what);
      if (kind == Kind::resolve && rules_->variant.conflict_for_resolve) kind = Kind::conflict;
      if (kind == Kind::loop) {
        broadcast_loop(step);
        break;
      }
      Message message = make(kind);
      if (kind == Kind::masterdown) {
        message.subject = self_;
        message.subject_incarnation = incarnation_;
      }
      step.turn.out.broadcast(message);
      break;
    }
    case Verb::reply: {
      const auto kind = static_cast<Kind>(action.what);
      Message reply =
          make(mutated(Mutation::accept_two) && kind == Kind::refuse && state_ == State::accept
                   ? Kind::accept
                   : kind);
      if (answer(reply.kind)) reply.answers = step.received().sequence;
      send(step, step.from, reply);
      break;
    }
    case Verb::start:
      start_timer(step, static_cast<Timer>(action.what));
      break;
    case Verb::remember_first:
      first_ = step.from;
      break;
    case Verb::remember_candidate:
      candidate_ = step.from;
      break;
    case Verb::note_rival:
      rival_ = true;
      break;
    case Verb::begin: {
      rival_ = false;
      start_timer(step, Timer::startup);
      call_ = courier_.next_sequence();
      step.turn.out.broadcast(call_message(step));
      repeats_left_ = rules_->repeats;
      if (repeats_left_ > 0 && !mutated(Mutation::no_repeats))
        timers_.set(Timer::repeat, step.now() + timing().startup / 5);
      break;
    }
    case Verb::stand:
      stand(step);
      break;
    case Verb::reign:
      seen_ = mutated(Mutation::reuse_round) ? std::max(seen_, 1U) : seen_ + 1;
      followed_ = {rules_->variant.no_epoch ? 0 : seen_, self_, incarnation_};
      begin_reign(step);
      break;
    case Verb::reign_on:
      begin_reign(step);
      break;
    case Verb::add_sender:
      list_.insert(step.from);
      note_answering(step);
      break;
    case Verb::prolong:
      timers_.set(Timer::candidate, std::min(step.now() + timing().candidate, candidacy_ends_));
      break;
    case Verb::back_off:
      if (!mutated(Mutation::no_back_off)) backoff_ = std::min(backoff_ * 2, kMaxBackoff);
      draw_election_span(step);
      break;
    case Verb::apply:
      set_ = true;
      overlooked_at_ = step.now() + kRoundsToOverlook * timing().adjtime;
      step.turn.out.notify(
          {.news = step.received().kind == Kind::settime ? Change::set : Change::adjusted,
           .peer = step.from,
           .epoch = step.received().epoch});
      break;
    case Verb::slaveup:
      if (step.received().kind == Kind::masterup) backoff_ = 1;
      slaveup(step, false);
      break;
    case Verb::slaveup_was_master:
      slaveup(step, true);
      break;
    case Verb::slaveup_if_followed:
      if (followed_.node == step.from) slaveup(step, false);
      break;
    case Verb::slaveup_if_overlooked:
      if (step.now() < overlooked_at_ || step.now() < slaveup_not_before_ ||
          mutated(Mutation::no_overlooked))
        break;
      slaveup_not_before_ = step.now() + timing().adjtime / 4;
      slaveup(step, false);
      break;
    case Verb::adjtime_round:
      adjtime_round(step);
      break;
    case Verb::settime_once:
      if (step.new_call) send(step, step.from, make(Kind::settime));
      break;
    case Verb::settime_if_not_set:
      if (step.received().not_set) send(step, step.from, make(Kind::settime));
      break;
    case Verb::loop_at_once:
      loop_at_once(step);
      break;
    case Verb::loop_if_was_master:
      if (step.received().was_master) loop_at_once(step);
      break;
    case Verb::quit_election: {
      Message quit = make(Kind::quit);
      quit.answers = step.received().sequence;
      send(step, step.from, quit);
      break;
    }
    case Verb::quit_master:
      if (!quit_under_way(step.from)) send(step, step.from, make(Kind::quit));
      break;
    case Verb::quit_rival:
      // While a Quit is in flight, another Resolve would only cause another Masterack: decision
      // 010.
      if (quit_under_way(step.from)) break;
      send(step, step.from, make(Kind::quit));
      list_.insert(step.from);
      step.turn.out.broadcast(make(Kind::resolve));
      start_timer(step, Timer::conflict);
      break;
    case Verb::conflict_to_first:
      send(step, first_, make(Kind::conflict));
      break;
    case Verb::follow_epoch:
      follow(step, step.received().epoch);
      break;
    case Verb::give_up_for_now:
      given_up_until_ = step.now() + timing().accept;
      break;
    case Verb::wait_for_heir: {
      const Nanos wait = heir_ != kNobody
                             ? 2 * timing().candidate + step.turn.draw.between(0s, election_width())
                             : step.turn.draw.between(0s, election_width() / 2);
      timers_.set(Timer::election, step.now() + wait + deference());
      break;
    }
    case Verb::election_soon:
      timers_.set(Timer::election, step.now() + timing().candidate);
      break;
    case Verb::end:
      ended_ = true;
      timers_.stop_all();
      courier_.withdraw([](NodeId, const Message&) { return true; });
      step.turn.out.notify({.news = Change::ended});
      break;
  }
}

// --- helpers ---

void MasterElection::on_ack(const Step& step) {
  if (step.message->subject_incarnation != incarnation_) return;
  const Message* acknowledged = courier_.acknowledge(step.from, step.message->answers);
  if (acknowledged != nullptr && list_.contains(step.from)) note_answering(step);
}

// Only a peer of the highest priority may become heir.
void MasterElection::note_answering(const Step& step) {
  if (step.message->priority == kMaxPriority)
    answering_.insert(step.from);
  else
    answering_.erase(step.from);
}

// Distinguishes a sender's messages from those it sent before it restarted.
Incarnation MasterElection::incarnation_of(const Message& message) {
  return mutated(Mutation::forget_incarnation) ? Incarnation{} : message.incarnation;
}

// The master has sent a message to this node: it receives ours, so this node follows it further.
void MasterElection::renew_trust(const Step& step) {
  give_up_at_ = step.now() + kRoundsToGiveUp * timing().adjtime;
  given_up_until_ = step.now();
}

void MasterElection::follow(Step& step, const Epoch& epoch) {
  if (!mutated(Mutation::forget_epoch))
    followed_ = epoch;
  else
    followed_ = {0, epoch.node, epoch.incarnation};
  backoff_ = 1;
  heir_ = kNobody;
  draw_election_span(step);
  overlooked_at_ = step.now() + kRoundsToOverlook * timing().adjtime;
  renew_trust(step);
  step.turn.out.notify({.news = Change::follows, .peer = epoch.node, .epoch = epoch});
}

// Extra wait before a candidacy, so that nodes of higher priority stand first.
Nanos MasterElection::deference() const { return steps_below_max(priority_) * election_width(); }

void MasterElection::draw_election_span(Step& step) {
  election_span_ =
      deference() + step.turn.draw.between(timing().election_min,
                                           timing().election_min + backoff_ * election_width());
}

void MasterElection::start_timer(Step& step, Timer timer) {
  const Timing& t = timing();
  Nanos span{0};
  switch (timer) {
    case Timer::startup:
      span = t.startup;
      break;
    case Timer::no_master:
      span = t.no_master + steps_below_max(priority_) * (t.startup + t.no_master);
      break;
    case Timer::sync:
      span = t.adjtime;
      break;
    case Timer::loop:
      if (rules_->variant.no_loop) return;
      span = t.loop;
      break;
    case Timer::election:
      span = election_span_;
      break;
    case Timer::candidate:
      span = t.candidate;
      break;
    case Timer::accept:
      span = t.accept;
      break;
    case Timer::conflict:
      span = t.conflict;
      break;
    case Timer::consistency:
      span = t.consistency;
      break;
    case Timer::repeat:
    case Timer::retransmit:
    case Timer::count:
      CHECK(false);
  }
  timers_.set(timer, step.now() + span);
}

void MasterElection::slaveup(Step& step, bool was_master) {
  Message message = make(Kind::slaveup);
  message.not_set = !set_;
  message.was_master = was_master;
  send(step, followed_.node, message);
}

Message MasterElection::make(Kind kind) {
  Message message{.kind = kind,
                  .priority = priority_,
                  .incarnation = incarnation_,
                  .sequence = courier_.next_sequence()};
  if (masters_message(kind) || kind == Kind::accept || kind == Kind::refuse || kind == Kind::stale)
    message.epoch = followed_;
  return message;
}

void MasterElection::send(Step& step, NodeId to, Message message) {
  step.turn.out.send(to, message);
  if (reliable(message.kind))
    courier_.post(step.now(), to, message,
                  {.interval = timing().retransmit, .sends = timing().sends});
}

const char* MasterElection::check() const {
  if (ended_) return nullptr;
  bool waits = false;
  for (std::uint8_t i = 0; i < Timers<Timer>::kCount; ++i) {
    const auto timer = static_cast<Timer>(i);
    if (timer == Timer::repeat || timer == Timer::retransmit) continue;
    if (!timers_.running(timer)) continue;
    if (!belongs(timer, state_)) return "a timer runs that does not belong to the state";
    waits = true;
  }
  if (!waits) return "no timer runs";
  if (state_ == State::slave && !timers_.running(Timer::election))
    return "a slave without an election timer";
  if (!collects(state_) && !list_.empty()) return "a list of slaves in a state that keeps none";
  if (!collects(state_) && state_ != State::startup && call_ != kNoSequence)
    return "a call in a state that makes none";
  if ((first_ != kNobody) != (state_ == State::consistency))
    return "the first master is remembered in consistency only";
  if ((candidate_ != kNobody) != (state_ == State::accept))
    return "a candidate is remembered in accept only";
  if (ruling() && (followed_.node != self_ || followed_.incarnation != incarnation_))
    return "a master follows another";
  if (!rules_->variant.no_epoch && followed_.round > seen_)
    return "the round followed is above the highest round seen";
  if (backoff_ < 1 || backoff_ > kMaxBackoff) return "back-off out of range";
  return nullptr;
}

}  // namespace tempo::election
