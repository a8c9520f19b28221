#include "lab/baselines/lelann.h"

namespace tempo::election {

using lelann::State;
using lelann::Timer;

LeLannElection::LeLannElection(NodeId self, const lelann::Rules& rules)
    : self_(self), rules_(&rules), before_(kNobody), after_(kNobody) {
  CHECK(rules.ring.contains(self));
  NodeId lowest = kNobody;
  rules.ring.for_each([&](NodeId node) {
    if (lowest == kNobody) lowest = node;
    if (node < self_) before_ = node;
    if (node > self_ && after_ == kNobody) after_ = node;
  });
  if (before_ == kNobody) before_ = rules.ring.highest();
  if (after_ == kNobody) after_ = lowest;
}

void LeLannElection::start(Turn<LeLannElection>& turn) { listen(turn.now); }

void LeLannElection::receive(Turn<LeLannElection>& turn, NodeId from, const Message& message) {
  // Ids of a former ring must not win on this one.
  if (from != before_ || !rules_->ring.contains(message.id)) return;
  if (state_ == State::watching) begin(turn);
  if (seen_.contains(message.id)) return;
  if (message.id != self_) turn.out.send(after_, message);
  see(message.id);
}

void LeLannElection::on_timer(Turn<LeLannElection>& turn, TimerId timer) {
  if (turn.now < timers_.at(timer)) return;
  begin(turn);
}

void LeLannElection::command(Turn<LeLannElection>& turn, Command command) {
  if (state_ != State::watching) return;
  switch (command) {
    case Command::suspect:
      begin(turn);
      break;
    case Command::alive:
      listen(turn.now);
      break;
  }
}

void LeLannElection::listen(Instant now) {
  if (rules_->silence) timers_.set(Timer::silence, now + *rules_->silence);
}

void LeLannElection::begin(Turn<LeLannElection>& turn) {
  timers_.stop(Timer::silence);
  enter(State::electing);
  if (after_ == self_) {
    see(self_);  // on a ring of one the id has already returned
  } else {
    turn.out.send(after_, {.id = self_});
  }
}

void LeLannElection::see(NodeId id) {
  seen_.insert(id);
  if (seen_.size() < rules_->ring.size()) return;
  coordinator_ = seen_.highest();
  enter(coordinator_ == self_ ? State::coordinator : State::follower);
}

void LeLannElection::enter(State next) {
  // No way back: one election for each machine.
  CHECK(next > state_);
  state_ = next;
}

const char* LeLannElection::check() const {
  const bool decided = state_ == State::follower || state_ == State::coordinator;
  if (state_ == State::watching && !seen_.empty()) return "ids received before the election";
  if (state_ != State::watching && timers_.running(Timer::silence))
    return "silence timer during or after the election";
  if (decided != (seen_.size() == rules_->ring.size()))
    return "decision and received ids do not match";
  if (decided != (coordinator_ != kNobody)) return "coordinator and decision do not match";
  if ((state_ == State::coordinator) != (coordinator_ == self_))
    return "state and coordinator differ";
  if (decided && !rules_->ring.contains(coordinator_)) return "the coordinator is not on the ring";
  return nullptr;
}

std::string_view lelann::name_of(State state) {
  switch (state) {
    case State::watching:
      return "watching";
    case State::electing:
      return "electing";
    case State::follower:
      return "follower";
    case State::coordinator:
      return "coordinator";
  }
  CHECK(false);
  return {};
}

std::string_view lelann::name_of(Kind kind) {
  CHECK(kind == Kind::token);
  return "token";
}

std::string_view lelann::name_of(Timer timer) {
  CHECK(timer == Timer::silence);
  return "silence";
}

}  // namespace tempo::election
