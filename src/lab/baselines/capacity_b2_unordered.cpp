#include "lab/baselines/capacity_b2_unordered.h"

#include <algorithm>

namespace tempo::election {

using capacity::Bid;
using capacity::kNotCandidate;
using capacity_b2_unordered::Kind;
using capacity_b2_unordered::Phase;
using capacity_b2_unordered::Timer;

CapacityB2Unordered::CapacityB2Unordered(NodeId self, const capacity::Rules& rules)
    : self_(self), rules_(&rules) {
  CHECK(index(self) < rules.members && rules.bound > 0s);
  CHECK(rules.members <= capacity_b2_unordered::kMaxMembers);
  CHECK(rules.members >= 3 * rules.malicious + 1);
  offers_.fill(kNotCandidate);
}

void CapacityB2Unordered::start(Turn<CapacityB2Unordered>& /*turn*/) {}

void CapacityB2Unordered::receive(Turn<CapacityB2Unordered>& turn, NodeId from,
                                  const Message& message) {
  if (index(from) >= rules_->members) return;
  if (message.number == number_ + 1) {
    if (message.round >= PhaseKing::rounds(rules_->malicious)) return;
    early_messages_.keep(from, message.round * 4U + std::to_underlying(message.kind), message);
    if (phase_ == Phase::stop) begin_next(turn);
    return;
  }
  if (message.number != number_) return;
  switch (message.kind) {
    case Kind::init:
      if (message.offers[0] <= kNotCandidate) return;
      if (phase_ == Phase::normal) begin(turn);
      if (phase_ == Phase::coll1 && offers_[index(from)] <= kNotCandidate)
        offers_[index(from)] = message.offers[0];
      break;
    case Kind::vect:
      if (phase_ != Phase::stop && !reports_[index(from)]) reports_[index(from)] = message.offers;
      break;
    case Kind::word:
      receive_vote(from, message);
      break;
  }
}

// A process that began before us may be one round ahead.
void CapacityB2Unordered::receive_vote(NodeId from, const Message& message) {
  if (phase_ == Phase::stop) return;
  const std::uint32_t expected = phase_ == Phase::agree ? king_.round() : 0;
  const bool ahead = phase_ != Phase::agree || message.round == expected + 1;
  if (phase_ == Phase::agree ? message.round != expected && !ahead : message.round != 0) return;
  std::optional<PhaseKing::Vote>& place = votes_[ahead ? 1 : 0][index(from)];
  if (!place) place = message.word;
}

void CapacityB2Unordered::on_timer(Turn<CapacityB2Unordered>& turn, TimerId timer) {
  if (turn.now < timers_.at(timer)) return;
  timers_.stop_all();
  switch (phase_) {
    case Phase::coll1: {
      phase_ = Phase::coll2;
      timers_.set(Timer::phase, turn.now + 2 * rules_->bound);
      turn.out.broadcast({.kind = Kind::vect, .number = number_, .offers = offers_});
      break;
    }
    case Phase::coll2: {
      std::uint16_t seen = 0;
      for (std::uint32_t i = 0; i < rules_->members; ++i)
        if (reports_[i]) seen = static_cast<std::uint16_t>(seen | 1U << i);
      king_ = PhaseKing(rules_->members, rules_->malicious, seen);
      phase_ = Phase::agree;
      begin_round(turn);
      break;
    }
    case Phase::agree:
      end_round(turn);
      break;
    case Phase::normal:
    case Phase::stop:
      break;
  }
}

void CapacityB2Unordered::command(Turn<CapacityB2Unordered>& turn, const Command& command) {
  switch (command.kind) {
    case Command::Kind::offer:
      offer_ = std::max(command.capacity, kNotCandidate);
      break;
    case Command::Kind::hold:
      if (phase_ == Phase::stop) begin_next(turn);
      if (phase_ == Phase::normal && offer_ > kNotCandidate) begin(turn);
      break;
    case Command::Kind::give_up:
      if (phase_ == Phase::normal || phase_ == Phase::stop) break;
      turn.out.notify({Notice::Kind::given_up, kNobody, number_});
      begin_next(turn);
      break;
  }
}

void CapacityB2Unordered::begin(Turn<CapacityB2Unordered>& turn) {
  phase_ = Phase::coll1;
  timers_.set(Timer::phase, turn.now + 2 * rules_->bound);
  if (offer_ <= kNotCandidate) return;
  Message init{.kind = Kind::init, .number = number_};
  init.offers[0] = offer_;
  turn.out.broadcast(init);
}

void CapacityB2Unordered::begin_next(Turn<CapacityB2Unordered>& turn) {
  renew();
  for (const auto& entry : early_messages_.take()) receive(turn, entry.from, entry.message);
}

void CapacityB2Unordered::begin_round(Turn<CapacityB2Unordered>& turn) {
  votes_[0] = votes_[1];
  votes_[1] = {};
  timers_.set(Timer::phase, turn.now + 2 * rules_->bound);
  if (const auto vote = king_.vote(self_))
    turn.out.broadcast({.kind = Kind::word,
                        .round = static_cast<std::uint8_t>(king_.round()),
                        .number = number_,
                        .word = *vote});
}

void CapacityB2Unordered::end_round(Turn<CapacityB2Unordered>& turn) {
  king_.end_round(votes_[0]);
  if (!king_.over()) {
    begin_round(turn);
    return;
  }
  master_ = choose();
  phase_ = Phase::stop;
  turn.out.notify({Notice::Kind::elected, master_, number_});
  if (!early_messages_.empty()) begin_next(turn);
}

// The best bid that more reports list than can be false.
NodeId CapacityB2Unordered::choose() const {
  Bid best;
  for (std::uint32_t candidate = 0; candidate < rules_->members; ++candidate)
    for (std::uint32_t witness = 0; witness < rules_->members; ++witness) {
      if ((king_.bits() >> witness & 1) == 0 || !reports_[witness]) continue;
      const capacity::Capacity offer = (*reports_[witness])[candidate];
      std::uint32_t votes = 0;
      for (std::uint32_t i = 0; i < rules_->members; ++i)
        votes += (king_.bits() >> i & 1) != 0 && reports_[i] && (*reports_[i])[candidate] == offer;
      if (offer > kNotCandidate && votes > rules_->malicious)
        best = std::max(best, Bid{offer, NodeId{candidate}});
    }
  return best.capacity > kNotCandidate ? best.node : kNobody;
}

void CapacityB2Unordered::renew() {
  ++number_;
  phase_ = Phase::normal;
  offers_.fill(kNotCandidate);
  reports_ = {};
  votes_ = {};
  king_ = {};
  master_ = kNobody;
  timers_.stop_all();
}

const char* CapacityB2Unordered::check() const {
  const bool waits = phase_ != Phase::normal && phase_ != Phase::stop;
  if (waits != timers_.running(Timer::phase)) return "phase and timer do not match";
  if (phase_ != Phase::stop && master_ != kNobody) return "a master before the end";
  return nullptr;
}

std::string_view capacity_b2_unordered::name_of(Phase phase) {
  switch (phase) {
    case Phase::normal:
      return "normal";
    case Phase::coll1:
      return "coll1";
    case Phase::coll2:
      return "coll2";
    case Phase::agree:
      return "agree";
    case Phase::stop:
      return "stop";
  }
  CHECK(false);
  return {};
}

std::string_view capacity_b2_unordered::name_of(const Message& message) {
  switch (message.kind) {
    case Kind::init:
      return "init";
    case Kind::vect:
      return "vect";
    case Kind::word:
      return "word";
  }
  CHECK(false);
  return {};
}

}  // namespace tempo::election
