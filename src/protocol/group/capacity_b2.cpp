#include "protocol/group/capacity_b2.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace tempo::election {

using capacity::Bid;
using capacity::Mutation;
using capacity::Variant;
using capacity_b2::Event;
using capacity_b2::Kind;
using capacity_b2::Phase;
using capacity_b2::Report;
using capacity_b2::Timer;
using capacity_b2::Verb;
using capacity_b2::When;

CapacityB2::CapacityB2(NodeId self, const capacity::Rules& rules) : self_(self), rules_(&rules) {
  CHECK(index(self) < rules.members && rules.bound > 0s);
  CHECK(rules.members >= 3 * rules.malicious + 1);
}

void CapacityB2::start(Turn<CapacityB2>& /*turn*/) {}

// A byzantine process may name any election. A process does not leave its current election for
// another, and the election after it has the next number.
void CapacityB2::receive(Turn<CapacityB2>& turn, NodeId from, const Message& message) {
  if (index(from) >= rules_->members) return;
  if (message.kind == Kind::init && message.capacity <= capacity::kNotCandidate) return;
  if (message.number == number_ + 1) {
    early_messages_.keep(from, std::to_underlying(message.kind), message);
    if (phase_ == Phase::stop || mutated(Mutation::leave_for_next)) begin_next(turn);
  } else if (message.number == number_) {
    take(turn, message.kind == Kind::init ? Event::init : Event::vect, from, message);
  }
}

void CapacityB2::begin_next(Turn<CapacityB2>& turn) {
  renew();
  for (const auto& entry : early_messages_.take()) receive(turn, entry.from, entry.message);
}

void CapacityB2::on_timer(Turn<CapacityB2>& turn, TimerId timer) {
  if (turn.now < timers_.at(timer)) return;
  timers_.stop_all();
  take(turn, Event::timeout, kNobody, {});
}

void CapacityB2::command(Turn<CapacityB2>& turn, const Command& command) {
  switch (command.kind) {
    case Command::Kind::offer:
      offer_ = std::max(command.capacity, capacity::kNotCandidate);
      break;
    case Command::Kind::hold:
      if (phase_ == Phase::stop) begin_next(turn);
      take(turn, Event::hold, kNobody, {});
      break;
    case Command::Kind::give_up:
      if (phase_ == Phase::normal || phase_ == Phase::stop) break;
      turn.out.notify({Notice::Kind::given_up, kNobody, number_});
      begin_next(turn);
      break;
  }
}

void CapacityB2::take(Turn<CapacityB2>& turn, Event event, NodeId from, const Message& heard) {
  capacity_b2::Table::take_row(
      phase_, event, [&](Phase next) { enter(next); },
      [&](Verb verb) { perform(turn, verb, from, heard); }, [&](When when) { return holds(when); });
}

bool CapacityB2::holds(When when) const {
  switch (when) {
    case When::always:
      return true;
    case When::candidate:
      return offer_ > capacity::kNotCandidate;
    case When::not_candidate:
      return offer_ <= capacity::kNotCandidate;
    case When::corrected:
      return rules_->variant == Variant::corrected;
  }
  CHECK(false);
  return false;
}

void CapacityB2::perform(Turn<CapacityB2>& turn, Verb verb, NodeId from, const Message& heard) {
  switch (verb) {
    case Verb::timer_2t:
      timers_.set(Timer::phase, turn.now + 2 * rules_->bound);
      break;
    case Verb::broadcast_init:
      turn.out.broadcast({.kind = Kind::init, .number = number_, .capacity = offer_});
      break;
    case Verb::broadcast_vect:
      reported_ = static_cast<std::uint32_t>(bids_.size());
      turn.out.broadcast({.kind = Kind::vect, .number = number_, .size = reported_});
      break;
    case Verb::append:
      if (std::ranges::find(bids_, from, &Bid::node) == bids_.end())
        bids_.push_back({heard.capacity, from});
      break;
    case Verb::report:
      if (std::ranges::find(reports_, from, &Report::node) == reports_.end())
        reports_.push_back({from, heard.size});
      break;
    case Verb::decide:
      master_ = rules_->variant == Variant::corrected ? choose() : choose_as_printed();
      turn.out.notify({Notice::Kind::elected, master_, number_});
      if (!early_messages_.empty()) begin_next(turn);
      break;
  }
}

// The longest list that is a prefix of at least t + 1 of the first n - t reports.
NodeId CapacityB2::choose() const {
  std::vector<std::uint32_t> sizes;
  const std::size_t first =
      mutated(Mutation::all_reports_count) ? rules_->members : rules_->members - rules_->malicious;
  const std::size_t counted = std::min(reports_.size(), first);
  for (std::size_t i = 0; i < counted; ++i) sizes.push_back(reports_[i].size);
  if (sizes.size() <= rules_->malicious) return kNobody;
  std::ranges::sort(sizes, std::greater{});
  return best_of_first(sizes[mutated(Mutation::one_report_is_enough) ? 0 : rules_->malicious]);
}

// The report of our first bidder whose report is among the first n - t; otherwise the first report.
NodeId CapacityB2::choose_as_printed() const {
  const std::size_t counted =
      std::min<std::size_t>(reports_.size(), rules_->members - rules_->malicious);
  if (counted == 0) return kNobody;
  for (std::size_t i = 0; i < reported_; ++i)
    for (std::size_t j = 0; j < counted; ++j)
      if (reports_[j].node == bids_[i].node) return best_of_first(reports_[j].size);
  return best_of_first(reports_[0].size);
}

NodeId CapacityB2::best_of_first(std::size_t count) const {
  Bid best;
  for (std::size_t i = 0; i < std::min(count, bids_.size()); ++i) best = std::max(best, bids_[i]);
  return best.capacity > capacity::kNotCandidate ? best.node : kNobody;
}

void CapacityB2::renew() {
  ++number_;
  enter(Phase::normal);
  bids_.clear();
  reports_.clear();
  reported_ = 0;
  master_ = kNobody;
  timers_.stop_all();
}

const char* CapacityB2::check() const {
  const bool waits = phase_ == Phase::coll1 || phase_ == Phase::coll2;
  if (waits != timers_.running(Timer::phase)) return "phase and timer do not match";
  if (bids_.size() > rules_->members || reports_.size() > rules_->members ||
      early_messages_.size() > 2 * std::size_t{rules_->members})
    return "more messages than members";
  if (reported_ > bids_.size()) return "reported more bids than it has";
  if (phase_ != Phase::stop && master_ != kNobody) return "a master before the end";
  return nullptr;
}

std::string_view capacity_b2::name_of(Phase phase) {
  switch (phase) {
    case Phase::normal:
      return "normal";
    case Phase::coll1:
      return "coll1";
    case Phase::coll2:
      return "coll2";
    case Phase::stop:
      return "stop";
  }
  CHECK(false);
  return {};
}

std::string_view capacity_b2::name_of(const Message& message) {
  return message.kind == Kind::init ? "init" : "vect";
}

}  // namespace tempo::election
