#include "protocol/group/ring_anonymous.h"

#include <array>

#include "protocol/group/ring_mutation.h"

namespace tempo::election {

using anonymous::Action;
using anonymous::Event;
using anonymous::Row;
using anonymous::State;
using anonymous::Timer;
using anonymous::Verb;
using ring::Kind;
using ring::Mutation;
using What = anonymous::Notice::What;

namespace {
std::int64_t divided_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }
}  // namespace

std::int64_t anonymous::Rules::loop() const {
  return std::int64_t{link.stations} * divided_up((delay_max + step_max).count(), step_min.count());
}
std::int64_t anonymous::Rules::patience() const {
  return loop() + divided_up(loop() * step_max.count(), step_min.count());
}

std::int64_t anonymous::Rules::last_wait() const {
  return printed_last_wait
             ? std::int64_t{link.stations} * divided_up(delay_max.count(), step_min.count())
             : loop();
}

AnonymousRingElection::AnonymousRingElection(NodeId self, Incarnation incarnation,
                                             const anonymous::Rules& rules)
    : self_(self), rules_(&rules), link_(self, incarnation, rules.link) {
  CHECK(rules.stages >= 1 && rules.step_min > Nanos{0} && rules.step_min <= rules.step_max);
}

void AnonymousRingElection::start(Turn<AnonymousRingElection>& /*turn*/) {}

void AnonymousRingElection::receive(Turn<AnonymousRingElection>& turn, NodeId from,
                                    const Message& message) {
  link_.receive(turn, from, message, [&](const Message& next) { take(turn, next); });
  settle_timers();
}

void AnonymousRingElection::on_timer(Turn<AnonymousRingElection>& turn, TimerId timer) {
  if (turn.now < timers_.at(timer)) return;
  if (timer == timer_id(Timer::link)) {
    link_.on_timer(
        turn, [&](const Message& own) { take(turn, own); }, [&] { neighbour_lost(turn); });
  } else if (state_ == State::forwarding || state_ == State::holding) {
    end_stage(turn);
  } else {
    happen(turn, Event::time_out);
  }
  settle_timers();
}

void AnonymousRingElection::command(Turn<AnonymousRingElection>& turn, Command /*command*/) {
  happen(turn, Event::woken);
  settle_timers();
}

void AnonymousRingElection::take(Turn<AnonymousRingElection>& turn, const Message& message) {
  if (message.number < number_ && !mutated(Mutation::keep_lower_number)) return;
  if (message.number > number_) restart(turn, message.number);
  // On an ordered ring the first message is a Wake-up or a Termination.
  happen(turn, event_of(message.kind));
}

Event AnonymousRingElection::event_of(Kind kind) const {
  switch (kind) {
    case Kind::claim:
      return claims_ > 0 ? Event::claim_again : Event::claim;
    case Kind::next_time:
      return passed_next_time_ ? Event::next_time_again : Event::next_time;
    case Kind::termination:
      return Event::termination;
    default:
      return Event::wake_up;
  }
}

void AnonymousRingElection::happen(Turn<AnonymousRingElection>& turn, Event event) {
  const State before = state_;
  const auto take_row = [&](auto table) {
    return decltype(table)::take_row(
        before, event, [&](State next) { enter(turn, next); },
        [&](const Action& action) { act(turn, action); });
  };
  using namespace anonymous::table;
  const Row* row = rules_->printed_next_timer ? take_row(StateTable<kPrinted>{})
                                              : take_row(StateTable<kMarker>{});
  if (row == nullptr) row = take_row(StateTable<kCommon>{});
  if (row != nullptr && row->to == State::next_timer && event == Event::next_time)
    passed_next_time_ = before == State::next_timer;
}

void AnonymousRingElection::act(Turn<AnonymousRingElection>& turn, const Action& action) {
  switch (action.verb) {
    case Verb::send:
      if (action.kind == Kind::next_time && state_ == State::between &&
          mutated(Mutation::swallow_next_time))
        break;
      link_.send(turn, {.kind = action.kind, .number = number_});
      break;
    case Verb::begin:
      begin(turn);
      break;
    case Verb::clock:
    case Verb::stage:
      start_clock(turn.now, rules_->loop());
      break;
    case Verb::last_wait:
      start_clock(turn.now, rules_->last_wait());
      break;
    case Verb::clock_long:
      start_clock(turn.now, rules_->patience());
      break;
    case Verb::stop:
      timers_.stop(Timer::clock);
      break;
    case Verb::own:
      ++claims_;
      break;
    case Verb::pass_claim:
      claims_ = 0;
      link_.send(turn, {.kind = Kind::claim, .number = number_});
      break;
  }
}

// The only function that assigns state_.
void AnonymousRingElection::enter(Turn<AnonymousRingElection>& turn, State next) {
  const bool was_candidate = candidate();
  const State before = state_;
  state_ = next;
  if (candidate() && !was_candidate) turn.out.notify({.what = What::candidate});
  if (!candidate()) {
    stage_ = 0;
    claims_ = 0;
  }
  if (next != State::next_timer) passed_next_time_ = false;
  if (next == before) return;
  if (next == State::next_timer) turn.out.notify({.what = What::next_timer});
  if (next == State::elected) turn.out.notify({.what = What::elected});
  if (next == State::defeated) turn.out.notify({.what = What::defeated});
}

void AnonymousRingElection::begin(Turn<AnonymousRingElection>& turn) {
  link_.watch(turn.now);
  const bool one = turn.draw.below(rules_->link.stations) == 0;
  turn.out.notify({.what = What::phase, .one = one});
  happen(turn, one ? Event::drew_one : Event::drew_other);
}

void AnonymousRingElection::end_stage(Turn<AnonymousRingElection>& turn) {
  if (claims_ != 1) {
    happen(turn, Event::end_miscounted);
    return;
  }
  ++stage_;
  if (stage_ == rules_->stages) {
    happen(turn, Event::end_last);
    return;
  }
  happen(turn, turn.draw.below(2) == 0 ? Event::end_forward : Event::end_hold);
}

// The election starts over under a higher number, as if all stations had just woken up.
void AnonymousRingElection::restart(Turn<AnonymousRingElection>& turn, std::uint32_t number) {
  number_ = number;
  timers_.stop(Timer::clock);
  enter(turn, State::between);
  begin(turn);
}

void AnonymousRingElection::neighbour_lost(Turn<AnonymousRingElection>& turn) {
  if (state_ == State::sleeping || mutated(Mutation::no_restart)) return;
  // The result is known, but the station after the dead one may not have received it.
  if (decided())
    link_.send(turn, {.kind = Kind::termination, .number = number_});
  else
    restart(turn, number_ + 1);
}

void AnonymousRingElection::start_clock(BootTime now, std::int64_t steps) {
  timers_.set(Timer::clock, now + steps * rules_->step_min);
}

bool AnonymousRingElection::candidate() const {
  return state_ == State::forwarding || state_ == State::holding || state_ == State::waiting;
}

void AnonymousRingElection::settle_timers() { timers_.set(Timer::link, link_.due()); }

const char* AnonymousRingElection::check() const {
  if (state_ == State::between) return "still between two phases";
  if (stage_ > rules_->stages) return "stage above the limit";
  if (!candidate() && (stage_ != 0 || claims_ != 0))
    return "a stage or a claim without a candidacy";
  if (claims_ > 1) return "owns more than one claim";
  const bool ticks = timers_.running(Timer::clock);
  if ((candidate() || state_ == State::awake_one) && !ticks) return "a phase without a clock";
  if ((decided() || state_ == State::sleeping || state_ == State::next_timer) && ticks)
    return "a running clock outside a phase";
  return nullptr;
}

std::string_view anonymous::name_of(State state) {
  static constexpr std::array<std::string_view, static_cast<std::size_t>(State::count)> kNames{
      "sleeping",   "between", "awake_one", "awake_other", "next_timer",
      "forwarding", "holding", "waiting",   "elected",     "defeated"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view anonymous::name_of(Event event) {
  static constexpr std::array<std::string_view, static_cast<std::size_t>(Event::count)> kNames{
      "woken",       "drew_one",        "drew_other", "claim",         "claim_again",
      "next_time",   "next_time_again", "wake_up",    "termination",   "time_out",
      "end_forward", "end_hold",        "end_last",   "end_miscounted"};
  return kNames[static_cast<std::size_t>(event)];
}

}  // namespace tempo::election
