#include "lab/baselines/bully.h"

namespace tempo::election {

using bully::Kind;
using bully::State;
using bully::Timer;

BullyElection::BullyElection(NodeId self, const bully::Rules& rules) : self_(self), rules_(&rules) {
  CHECK(rules.members.contains(self));
  CHECK(rules.answer_timeout > 0s && rules.coordinator_timeout > 0s);
}

void BullyElection::start(Turn<BullyElection>& turn) { enter(turn, State::following, kNobody); }

void BullyElection::receive(Turn<BullyElection>& turn, NodeId from, const Message& message) {
  // Only rank counts here, so a message must come from the node it names.
  if (from == self_ || message.id != from || !rules_->members.contains(from)) return;
  switch (message.kind) {
    case Kind::election:
      if (from < self_) on_election(turn, from);
      break;
    case Kind::answer:
      if (from > self_ && state_ == State::asking) enter(turn, State::waiting, kNobody);
      break;
    case Kind::coordinator:
      on_coordinator(turn, from);
      break;
  }
}

void BullyElection::on_timer(Turn<BullyElection>& turn, TimerId id) {
  if (turn.now < timers_.at(id)) return;
  switch (static_cast<Timer>(id)) {
    case Timer::answer:
      reign(turn);
      break;
    case Timer::silence:
    case Timer::coordinator:
      hold_election(turn);
      break;
    case Timer::count:
      CHECK(false);
  }
}

void BullyElection::command(Turn<BullyElection>& turn, Command command) {
  if (state_ != State::following) return;
  switch (command) {
    case Command::suspect:
      hold_election(turn);
      break;
    case Command::alive:
      enter(turn, State::following, coordinator_);
      break;
  }
}

void BullyElection::hold_election(Turn<BullyElection>& turn) {
  rules_->members.for_each([&](NodeId node) {
    if (node > self_) send(turn, node, Kind::election);
  });
  enter(turn, State::asking, kNobody);
}

void BullyElection::reign(Turn<BullyElection>& turn) {
  rules_->members.for_each([&](NodeId node) {
    if (node < self_) send(turn, node, Kind::coordinator);
  });
  enter(turn, State::coordinator, self_);
}

void BullyElection::on_election(Turn<BullyElection>& turn, NodeId from) {
  if (state_ == State::coordinator) {
    send(turn, from, Kind::coordinator);
    return;
  }
  send(turn, from, Kind::answer);
  // One election at a time: the current one also covers this question.
  if (state_ == State::following) hold_election(turn);
}

void BullyElection::on_coordinator(Turn<BullyElection>& turn, NodeId from) {
  if (from > self_) {
    enter(turn, State::following, from);
  } else if (state_ == State::coordinator) {
    send(turn, from, Kind::coordinator);
  } else if (state_ == State::following) {
    hold_election(turn);
  }
}

void BullyElection::enter(Turn<BullyElection>& turn, State next, NodeId coordinator) {
  state_ = next;
  coordinator_ = coordinator;
  timers_.stop_all();
  switch (next) {
    case State::following:
      if (rules_->silence) timers_.set(Timer::silence, turn.now + *rules_->silence);
      break;
    case State::asking:
      timers_.set(Timer::answer, turn.now + rules_->answer_timeout);
      break;
    case State::waiting:
      timers_.set(Timer::coordinator, turn.now + rules_->coordinator_timeout);
      break;
    case State::coordinator:
      break;
  }
}

void BullyElection::send(Turn<BullyElection>& turn, NodeId to, Kind kind) const {
  turn.out.send(to, {.kind = kind, .id = self_});
}

const char* BullyElection::check() const {
  const bool electing = state_ == State::asking || state_ == State::waiting;
  if ((state_ == State::asking) != timers_.running(Timer::answer))
    return "state asking and its timer do not match";
  if ((state_ == State::waiting) != timers_.running(Timer::coordinator))
    return "state waiting and its timer do not match";
  if (state_ != State::following && timers_.running(Timer::silence))
    return "silence timer without a coordinator";
  if (electing && coordinator_ != kNobody) return "a coordinator during the election";
  if ((state_ == State::coordinator) != (coordinator_ == self_))
    return "state and coordinator differ";
  if (coordinator_ != kNobody && coordinator_ < self_) return "follows a lower node";
  return nullptr;
}

std::string_view bully::name_of(State state) {
  switch (state) {
    case State::following:
      return "following";
    case State::asking:
      return "asking";
    case State::waiting:
      return "waiting";
    case State::coordinator:
      return "coordinator";
  }
  CHECK(false);
  return {};
}

std::string_view bully::name_of(Kind kind) {
  switch (kind) {
    case Kind::election:
      return "election";
    case Kind::answer:
      return "answer";
    case Kind::coordinator:
      return "coordinator";
  }
  CHECK(false);
  return {};
}

std::string_view bully::name_of(Timer timer) {
  switch (timer) {
    case Timer::silence:
      return "silence";
    case Timer::answer:
      return "answer";
    case Timer::coordinator:
      return "coordinator";
    case Timer::count:
      break;
  }
  CHECK(false);
  return {};
}

}  // namespace tempo::election
