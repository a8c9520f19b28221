#include "protocol/group/capacity_c.h"

#include <algorithm>

namespace tempo::election {

using capacity::Bid;
using capacity::Variant;
using capacity_c::Event;
using capacity_c::Kind;
using capacity_c::Phase;
using capacity_c::Timer;
using capacity_c::Verb;
using capacity_c::When;

CapacityC::CapacityC(NodeId self, const capacity::Rules& rules) : self_(self), rules_(&rules) {
  CHECK(index(self) < rules.members && rules.bound > 0s);
}

void CapacityC::start(Turn<CapacityC>& /*turn*/) {}

void CapacityC::receive(Turn<CapacityC>& turn, NodeId from, const Message& message) {
  if (index(from) >= rules_->members || from == self_ || message.number < number_) return;
  const bool dup = message.kind == Kind::dup;
  if (message.first.node != from && !dup) return;  // a process bids only for itself
  if (index(message.first.node) >= rules_->members ||
      (dup && index(message.second.node) >= rules_->members))
    return;
  if (message.number > number_) renew(message.number);
  switch (message.kind) {
    case Kind::init:
      return take(turn, Event::init, message);
    case Kind::elected:
      return take(turn, Event::elected, message);
    case Kind::dup:
      return take(turn, Event::dup, message);
  }
}

void CapacityC::on_timer(Turn<CapacityC>& turn, TimerId timer) {
  if (turn.now < timers_.at(timer)) return;
  timers_.stop_all();
  take(turn, Event::timeout, {});
}

void CapacityC::command(Turn<CapacityC>& turn, const Command& command) {
  switch (command.kind) {
    case Command::Kind::offer:
      offer_ = std::max(command.capacity, capacity::kNotCandidate);
      break;
    case Command::Kind::hold:
      if (decided() || phase_ == Phase::help) renew(number_ + 1);
      take(turn, Event::hold, {});
      break;
    case Command::Kind::give_up:
      if (decided() || phase_ == Phase::normal) break;
      turn.out.notify({Notice::Kind::given_up, kNobody, number_});
      renew(number_ + 1);
      break;
  }
}

void CapacityC::take(Turn<CapacityC>& turn, Event event, const Message& heard) {
  capacity_c::Table::take_row(
      phase_, event, [&](Phase next) { enter(next); },
      [&](Verb verb) { perform(turn, verb, heard); },
      [&](When when) { return holds(when, heard); });
}

bool CapacityC::holds(When when, const Message& heard) const {
  switch (when) {
    case When::always:
      return true;
    case When::candidate:
      return offer_ > capacity::kNotCandidate;
    case When::not_candidate:
      return offer_ <= capacity::kNotCandidate;
    case When::corrected:
      return rules_->variant == Variant::corrected;
    case When::best:
      return is_best();
    case When::best_none_else:
      return elected_.empty() && is_best();
    case When::none_else:
      return elected_.empty();
    case When::one_else:
      return elected_.size() == 1;
    case When::other_than_master:
      return heard.first.node != master_.node;
  }
  CHECK(false);
  return false;
}

void CapacityC::perform(Turn<CapacityC>& turn, Verb verb, const Message& heard) {
  const auto collect = [&](capacity::Bids& into) {
    bool fresh = into.add(heard.first);
    if (heard.kind == Kind::dup) fresh |= into.add(heard.second);
    return fresh;
  };
  const auto say = [&](Kind kind, const Bid& first, const Bid& second = {}) {
    turn.out.broadcast({.kind = kind, .number = number_, .first = first, .second = second});
  };
  switch (verb) {
    case Verb::collect_own:
      bid_ = {offer_, self_};
      bids_.add(bid_);
      break;
    case Verb::own_alone:
      bids_.clear();
      bids_.add(bid_);
      elected_.clear();
      break;
    case Verb::own_and_elected:
      bids_ = elected_;
      bids_.add(bid_);
      break;
    case Verb::collect:
      collect(bids_);
      break;
    case Verb::collect_new_dup:
      if (collect(bids_)) say(Kind::dup, bid_, heard.first);
      break;
    case Verb::collect_elected:
      collect(elected_);
      break;
    case Verb::adopt:
      master_ = heard.first;
      break;
    case Verb::adopt_elected:
      master_ = elected_[0];
      break;
    case Verb::reign:
      master_ = bid_;
      [[fallthrough]];
    case Verb::settle:
      turn.out.notify({Notice::Kind::elected, master_.node, number_});
      break;
    case Verb::timer_2t:
      timers_.set(Timer::phase, turn.now + 2 * rules_->bound);
      break;
    case Verb::timer_3t:
      timers_.set(Timer::phase, turn.now + 3 * rules_->bound);
      break;
    case Verb::timer_5t:
      timers_.set(Timer::phase, turn.now + 5 * rules_->bound);
      break;
    case Verb::broadcast_init:
      say(Kind::init, bid_);
      break;
    case Verb::broadcast_elected:
      say(Kind::elected, bid_);
      break;
    case Verb::broadcast_dup:
      say(Kind::dup, phase_ == Phase::coll3 ? bid_ : master_, heard.first);
      break;
    case Verb::broadcast_dup_of_elected:
      say(Kind::dup, elected_[0], elected_.size() > 1 ? elected_[1] : bid_);
      break;
    case Verb::ask_help:
      turn.out.notify({Notice::Kind::help, kNobody, number_});
      break;
  }
}

bool CapacityC::is_best() const { return bid_ >= std::max(bids_.best(), elected_.best()); }

void CapacityC::renew(std::uint32_t number) {
  number_ = number;
  enter(Phase::normal);
  bids_.clear();
  elected_.clear();
  bid_ = master_ = {};
  timers_.stop_all();
}

const char* CapacityC::check() const {
  const bool at_rest = decided() || phase_ == Phase::normal || phase_ == Phase::help;
  if (at_rest == timers_.running(Timer::phase)) return "phase and timer do not match";
  if (phase_ == Phase::master && master_.node != self_)
    return "in state master, but another process is master";
  if (phase_ == Phase::stop && master_.node == kNobody) return "ends without a master";
  return nullptr;
}

std::string_view capacity_c::name_of(Phase phase) {
  switch (phase) {
    case Phase::normal:
      return "normal";
    case Phase::coll1:
      return "coll1";
    case Phase::coll2:
      return "coll2";
    case Phase::coll3:
      return "coll3";
    case Phase::wait1:
      return "wait1";
    case Phase::wait2:
      return "wait2";
    case Phase::wait3:
      return "wait3";
    case Phase::help:
      return "help";
    case Phase::stop:
      return "stop";
    case Phase::master:
      return "master";
  }
  CHECK(false);
  return {};
}

std::string_view capacity_c::name_of(const Message& message) {
  switch (message.kind) {
    case Kind::init:
      return "init";
    case Kind::elected:
      return "elected";
    case Kind::dup:
      return "dup";
  }
  CHECK(false);
  return {};
}

}  // namespace tempo::election
