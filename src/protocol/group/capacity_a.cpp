#include "protocol/group/capacity_a.h"

namespace tempo::election {

using capacity::Bid;
using capacity_a::Event;
using capacity_a::Phase;
using capacity_a::Timer;
using capacity_a::Verb;

CapacityA::CapacityA(NodeId self, const capacity::Rules& rules) : self_(self), rules_(&rules) {
  CHECK(index(self) < rules.members && rules.bound > 0s);
}

void CapacityA::start(Turn<CapacityA>& /*turn*/) {}

void CapacityA::receive(Turn<CapacityA>& turn, NodeId from, const Message& message) {
  if (index(from) >= rules_->members || message.number != number_) return;
  take(turn, Event::bid, {message.capacity, from});
}

void CapacityA::on_timer(Turn<CapacityA>& turn, TimerId timer) {
  if (turn.now < timers_.at(timer)) return;
  timers_.stop_all();
  take(turn, Event::timeout, {});
}

void CapacityA::command(Turn<CapacityA>& turn, const Command& command) {
  switch (command.kind) {
    case Command::Kind::offer:
      offer_ = std::max(command.capacity, capacity::kNotCandidate);
      break;
    case Command::Kind::hold:
      if (phase_ == Phase::wait) break;
      enter(Phase::start);
      ++number_;
      bids_.clear();
      master_ = kNobody;
      take(turn, Event::hold, {});
      break;
    case Command::Kind::give_up:
      if (phase_ != Phase::wait) break;
      timers_.stop_all();
      enter(Phase::start);
      turn.out.notify({capacity::Notice::Kind::given_up, kNobody, number_});
      break;
  }
}

void CapacityA::take(Turn<CapacityA>& turn, Event event, const Bid& heard) {
  capacity_a::Table::take_row(
      phase_, event, [&](Phase next) { enter(next); },
      [&](Verb verb) { perform(turn, verb, heard); });
}

void CapacityA::perform(Turn<CapacityA>& turn, Verb verb, const Bid& heard) {
  switch (verb) {
    case Verb::collect:
      bids_.add(heard);
      break;
    case Verb::timer_t:
      timers_.set(Timer::phase, turn.now + rules_->bound);
      break;
    case Verb::broadcast_bid:
      turn.out.broadcast({number_, offer_});
      break;
    case Verb::decide:
      master_ = bids_.best().node;
      turn.out.notify({capacity::Notice::Kind::elected, master_, number_});
      break;
  }
}

const char* CapacityA::check() const {
  if ((phase_ == Phase::wait) != timers_.running(Timer::phase))
    return "phase and timer do not match";
  if (phase_ != Phase::stop && master_ != kNobody) return "a master before the end";
  return nullptr;
}

std::string_view capacity_a::name_of(Phase phase) {
  switch (phase) {
    case Phase::start:
      return "start";
    case Phase::wait:
      return "wait";
    case Phase::stop:
      return "stop";
  }
  CHECK(false);
  return {};
}

}  // namespace tempo::election
