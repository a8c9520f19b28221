#include "protocol/group/ring_equitable.h"

#include <array>

#include "protocol/group/ring_mutation.h"

namespace tempo::election {

using ring::Kind;
using ring::Method;
using ring::Mutation;
using ring::State;
using What = ring::Notice::What;

RingElection::RingElection(NodeId self, Incarnation incarnation, const ring::EquitableRules& rules)
    : self_(self), rules_(&rules), link_(self, incarnation, rules.link) {
  CHECK(rules.range >= 1);
}

void RingElection::start(Turn<RingElection>& /*turn*/) {}

void RingElection::receive(Turn<RingElection>& turn, NodeId from, const Message& message) {
  link_.receive(turn, from, message, [&](const Message& next) { take(turn, next); });
  settle_timers();
}

void RingElection::on_timer(Turn<RingElection>& turn, TimerId timer) {
  if (turn.now < timers_.at(timer)) return;
  const NodeId next = link_.next();
  link_.on_timer(
      turn, [&](const Message& own) { take(turn, own); }, [&] { neighbour_lost(turn, next); });
  settle_timers();
}

void RingElection::command(Turn<RingElection>& turn, Command command) {
  if (command == Command::elect || state_ == State::idle) begin(turn, number_ + 1);
  settle_timers();
}

void RingElection::begin(Turn<RingElection>& turn, std::uint32_t number) {
  number_ = number;
  leader_ = kNobody;
  enter(State::active);
  link_.watch(turn.now);
  turn.out.notify({.what = What::began, .number = number_});
  draw(turn);
}

// A round: draw, send, and wait for the draw of the previous active station.
void RingElection::draw(Turn<RingElection>& turn) {
  if (rules_->method != Method::highest_id)
    priority_ = 1 + static_cast<std::uint32_t>(turn.draw.below(rules_->range));
  turn.out.notify({.what = What::drew, .number = number_});
  link_.send(turn, {.kind = Kind::priority, .number = number_, .id = self_, .priority = priority_});
}

void RingElection::take(Turn<RingElection>& turn, const Message& message) {
  if (message.kind == Kind::priority) turn.out.notify({.what = What::took, .number = number_});
  if (message.number < number_ && !mutated(Mutation::keep_lower_number)) return;
  if (message.number > number_) {
    if (message.kind == Kind::priority) {
      begin(turn, message.number);
    } else {
      number_ = message.number;  // the election is over, and this station learns of it only now
      leader_ = kNobody;
      enter(State::relay);
    }
  }
  if (message.kind == Kind::priority) take_priority(turn, message);
  if (message.kind == Kind::announcement && !decided()) {
    enter(State::follower);
    decide(turn, message.id);
    pass_on(turn, message);
  }
}

void RingElection::take_priority(Turn<RingElection>& turn, const Message& message) {
  if (decided()) return;
  if (message.id == self_ && (state_ == State::active || rules_->method == Method::highest_id)) {
    enter(State::leader);
    decide(turn, self_);
    if (!mutated(Mutation::no_announcement))
      link_.send(turn, {.kind = Kind::announcement, .number = number_, .id = self_});
  } else if (rules_->method == Method::highest_id) {
    compare_ids(turn, message);
  } else if (state_ == State::active) {
    compare(turn, message);
  } else {
    pass_on(turn, message);
  }
}

void RingElection::compare(Turn<RingElection>& turn, const Message& message) {
  bool stays = priority_ <= message.priority;
  if (priority_ == message.priority && rules_->method == Method::ties_by_id)
    stays = self_ < message.id;
  if (mutated(Mutation::tie_loses)) stays = priority_ < message.priority;
  if (stays) {
    draw(turn);
  } else {
    enter(State::relay);
    turn.out.notify({.what = What::lost, .number = number_});
  }
}

void RingElection::compare_ids(Turn<RingElection>& turn, const Message& message) {
  if (message.id < self_) return;
  if (state_ == State::active) {
    enter(State::relay);
    turn.out.notify({.what = What::lost, .number = number_});
  }
  pass_on(turn, message);
}

void RingElection::pass_on(Turn<RingElection>& turn, const Message& message) {
  link_.send(turn, {.kind = message.kind,
                    .number = message.number,
                    .id = message.id,
                    .priority = message.priority});
}

void RingElection::decide(Turn<RingElection>& turn, NodeId leader) {
  leader_ = leader;
  link_.watch(turn.now);
  turn.out.notify({.what = What::decided, .number = number_});
}

void RingElection::neighbour_lost(Turn<RingElection>& turn, NodeId dead) {
  if (state_ == State::idle || mutated(Mutation::no_restart)) return;
  if (decided() && leader_ != dead)
    link_.send(turn, {.kind = Kind::announcement, .number = number_, .id = leader_});
  else
    begin(turn, number_ + 1);
}

void RingElection::enter(State next) {
  state_ = next;
  if (next != State::active) priority_ = 0;
}

void RingElection::settle_timers() { timers_.set(ring::Timer::link, link_.due()); }

const char* RingElection::check() const {
  if ((leader_ != kNobody) != decided()) return "leader and decision do not match";
  if ((state_ == State::leader) != (leader_ == self_)) return "state and leader differ";
  if ((state_ == State::idle) != (number_ == 0)) return "an election without a number";
  if ((priority_ != 0) != (state_ == State::active && rules_->method != Method::highest_id))
    return "priority and round do not match";
  return nullptr;
}

std::string_view ring::name_of(State state) {
  static constexpr std::array<std::string_view, 5> kNames{"idle", "active", "relay", "leader",
                                                          "follower"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view ring::name_of(Method method) {
  static constexpr std::array<std::string_view, 3> kNames{"equitable", "ties-by-id", "highest-id"};
  return kNames[static_cast<std::size_t>(method)];
}

}  // namespace tempo::election
