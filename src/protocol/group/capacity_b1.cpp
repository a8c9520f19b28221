#include "protocol/group/capacity_b1.h"

namespace tempo::election {

using capacity::Bid;
using capacity::Mutation;
using capacity_b1::Event;
using capacity_b1::Kind;
using capacity_b1::Phase;
using capacity_b1::Timer;
using capacity_b1::Verb;
using capacity_b1::When;

CapacityB1::CapacityB1(NodeId self, const capacity::Rules& rules) : self_(self), rules_(&rules) {
  CHECK(index(self) < rules.members && rules.bound > 0s);
}

void CapacityB1::start(Turn<CapacityB1>& /*turn*/) {}

void CapacityB1::receive(Turn<CapacityB1>& turn, NodeId from, const Message& message) {
  if (index(from) >= rules_->members || message.number < number_) return;
  if (message.number > number_) renew(message.number);
  const bool bid = message.kind == Kind::bid;
  if (bid && message.capacity <= capacity::kNotCandidate) return;
  take(turn, bid ? Event::bid : Event::alive, {message.capacity, from});
}

void CapacityB1::on_timer(Turn<CapacityB1>& turn, TimerId timer) {
  if (turn.now < timers_.at(timer)) return;
  timers_.stop_all();
  take(turn, Event::timeout, {});
}

void CapacityB1::command(Turn<CapacityB1>& turn, const Command& command) {
  switch (command.kind) {
    case Command::Kind::offer:
      offer_ = std::max(command.capacity, capacity::kNotCandidate);
      break;
    case Command::Kind::hold:
      if (phase_ == Phase::stop) renew(number_ + 1);
      take(turn, Event::hold, {});
      break;
    case Command::Kind::give_up:
      if (phase_ != Phase::collect) break;
      turn.out.notify({Notice::Kind::given_up, kNobody, number_});
      renew(number_ + 1);
      break;
  }
}

void CapacityB1::take(Turn<CapacityB1>& turn, Event event, const Bid& heard) {
  capacity_b1::Table::take_row(
      phase_, event, [&](Phase next) { enter(next); },
      [&](Verb verb) { perform(turn, verb, heard); },
      [&](When when) { return holds(when, heard); });
}

bool CapacityB1::holds(When when, const Bid& heard) const {
  switch (when) {
    case When::always:
      return true;
    case When::candidate:
      return offer_ > capacity::kNotCandidate;
    case When::not_candidate:
      return offer_ <= capacity::kNotCandidate;
    case When::of_master:
      return heard.node == master_;
    case When::best_self:
      return bids_.best().node == self_;
  }
  CHECK(false);
  return false;
}

void CapacityB1::perform(Turn<CapacityB1>& turn, Verb verb, const Bid& heard) {
  switch (verb) {
    case Verb::collect_own:
      bids_.add({offer_, self_});
      break;
    case Verb::collect:
      bids_.add(heard);
      break;
    case Verb::timer_2t:
      timers_.set(Timer::phase,
                  turn.now + (mutated(Mutation::collect_for_t) ? 1 : 2) * rules_->bound);
      break;
    case Verb::broadcast_bid:
      turn.out.broadcast({Kind::bid, number_, offer_});
      break;
    case Verb::broadcast_alive:
      turn.out.broadcast({Kind::alive, number_, capacity::kNotCandidate});
      break;
    case Verb::note_alive:
      alive_ = heard.node;
      if (alive_ == master_) timers_.stop_all();
      break;
    case Verb::decide:
      master_ = bids_.best().node;
      turn.out.notify({Notice::Kind::elected, master_, number_});
      break;
    case Verb::expect_alive:
      if (alive_ != master_) timers_.set(Timer::phase, turn.now + 2 * rules_->bound);
      break;
    case Verb::begin_next:
      renew(number_ + 1);
      take(turn, Event::hold, {});
      break;
  }
}

void CapacityB1::renew(std::uint32_t number) {
  number_ = number;
  enter(Phase::normal);
  bids_.clear();
  alive_ = master_ = kNobody;
  timers_.stop_all();
}

const char* CapacityB1::check() const {
  if (phase_ == Phase::normal && (timers_.running(Timer::phase) || !bids_.empty()))
    return "collects bids before the election";
  if (phase_ == Phase::collect && !timers_.running(Timer::phase))
    return "collects bids without a timer";
  if (phase_ != Phase::stop && master_ != kNobody) return "a master before the end";
  return nullptr;
}

std::string_view capacity_b1::name_of(Phase phase) {
  switch (phase) {
    case Phase::normal:
      return "normal";
    case Phase::collect:
      return "collect";
    case Phase::stop:
      return "stop";
  }
  CHECK(false);
  return {};
}

std::string_view capacity_b1::name_of(const Message& message) {
  return message.kind == Kind::bid ? "bid" : "alive";
}

}  // namespace tempo::election
