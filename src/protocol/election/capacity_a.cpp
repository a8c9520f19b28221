#include "protocol/election/capacity_a.h"

namespace tempo::election {

using capacity_a::Phase;
using capacity_a::Timer;

CapacityA::CapacityA(NodeId self, const capacity::Rules& rules) : self_(self), rules_(&rules) {
  CHECK(index(self) < rules.members && rules.bound > 0s);
}

void CapacityA::start(Turn<CapacityA>& /*turn*/) {}

void CapacityA::receive(Turn<CapacityA>& /*turn*/, NodeId from, const Message& message) {
  if (index(from) >= rules_->members || message.number != number_) return;
  if (phase_ == Phase::wait) bids_.add({message.capacity, from});  // 2
}

void CapacityA::wake(Turn<CapacityA>& turn, TimerId timer) {
  if (turn.now < timers_.at(timer)) return;
  timers_.stop_all();
  phase_ = Phase::stop;  // 3
  master_ = bids_.best().node;
  turn.out.note({capacity::Notice::Kind::elected, master_, number_});
}

void CapacityA::command(Turn<CapacityA>& turn, const Command& command) {
  switch (command.kind) {
    case Command::Kind::offer:
      offer_ = std::max(command.capacity, capacity::kNotCandidate);
      break;
    case Command::Kind::hold:
      if (phase_ == Phase::wait) break;
      phase_ = Phase::wait;  // 1
      ++number_;
      bids_.clear();
      master_ = kNobody;
      timers_.set(Timer::phase, turn.now + rules_->bound);
      turn.out.broadcast({number_, offer_});
      break;
    case Command::Kind::give_up:
      if (phase_ != Phase::wait) break;
      timers_.stop_all();
      phase_ = Phase::start;
      turn.out.note({capacity::Notice::Kind::void_, kNobody, number_});
      break;
  }
}

const char* CapacityA::check() const {
  if ((phase_ == Phase::wait) != timers_.running(Timer::phase)) return "waits without end";
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
