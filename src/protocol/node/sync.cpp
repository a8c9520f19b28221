#include "protocol/node/sync.h"

#include <algorithm>
#include <cmath>

#include "protocol/clock/rejection.h"

namespace tempo::node {
namespace {

constexpr std::uint32_t kExchangesToSet = 2;
constexpr Nanos kWorthAStep = 1ms;       // of one that was set before
constexpr double kSlewSeconds = 1;       // in which a small error is made up
constexpr int kIntervalsToHoldover = 5;  // without an answer
constexpr int kIntervalsToForget = 5;    // without a report
constexpr int kRoundsToAverage = 16;     // in which the master's rate comes to the average
constexpr double kHeldWander = 10e-6;    // of our clock while no reference is known well
constexpr double kRateDoubt = 10e-6;     // a rate that may be wrong by more is not believed
constexpr std::uint32_t kShiftSends = 10;
constexpr Nanos kShiftPause = 200ms;
constexpr double kMasterWander = 1e-6;  // how fast the master's rate may have changed unheard

Nanos raw_of(Instant instant) { return instant.time_since_epoch(); }

}  // namespace

std::string_view name_of(SyncMessage::Kind kind) {
  constexpr std::array<std::string_view, 4> kNames{"probe", "echo", "follow_up", "shift"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string_view name_of(Reading::Status status) {
  constexpr std::array<std::string_view, 4> kNames{"unsynchronized", "holdover", "synchronized",
                                                   "leads"};
  return kNames.at(static_cast<std::size_t>(status));
}

std::int64_t Sync::whole(double rate) { return std::llround(rate * 1e12); }

// An instant as the stamps show it.
Instant Sync::stamp(Instant instant) const {
  if (rules_->stamp_grain == Nanos{0}) return instant;
  return instant - instant.time_since_epoch() % rules_->stamp_grain;
}

Instant Sync::arrival(const Turn<Sync>& turn, const Message& message) const {
  return stamp(message.arrived == Instant{} ? turn.now : std::min(message.arrived, turn.now));
}

void Sync::start(Turn<Sync>& /*turn*/) {}

void Sync::command(Turn<Sync>& turn, const Command& command) {
  switch (command.what) {
    case Command::What::follow:
      follow(turn, command.peer);
      break;
    case Command::What::lead:
      lead(turn);
      break;
    case Command::What::set:
      may_step_ = true;
      correct(turn);
      break;
    case Command::What::adjust:
      correct(turn);
      break;
    case Command::What::departed: {
      if (command.peer != reference_ || reference_ == kNobody) {
        turn.out.send(command.peer, {.kind = Message::Kind::follow_up,
                                     .exchange = command.exchange,
                                     .sent = raw_of(command.at)});
        break;
      }
      const auto found = std::ranges::find(asked_, command.exchange, &Asked::exchange);
      if (found != asked_.end() && command.exchange != 0 && command.at <= turn.now)
        found->asked = command.at;
      break;
    }
    case Command::What::shift:
      if (leads_) {
        shift_network(turn, command.by);
      } else if (reference_ != kNobody) {
        shift_by_ = command.by;
        shift_left_ = kShiftSends;
        ++shift_number_;
        send_shift(turn);
      }
      break;
  }
}

// --- following ---

void Sync::follow(Turn<Sync>& turn, NodeId master) {
  if (master == reference_) return;
  const Reading before = reading(turn.now);
  if (leads_ || corrected_) {
    held_since_ = turn.now;
    held_bound_ = std::max(before.latest - before.time, before.time - before.earliest);
  }
  leads_ = false;
  timers_.stop(Timer::round);
  reference_ = master;
  estimator_.emplace(0.0);
  asked_ = {};
  owed_ = false;
  may_step_ = false;
  corrected_ = false;
  contacts_left_ = rules_->first_burst;
  burst_left_ = 0;
  published_ = {};
  first_heard_ = kNever;
  last_heard_ = Instant{};
  members_.clear();
  timers_.set(Timer::probe, turn.now);
}

void Sync::begin_burst(Turn<Sync>& turn) {
  finish_unfollowed(turn);
  if (contacts_left_ > 0) {
    --contacts_left_;
    burst_left_ = 0;
    ask(turn, true);
    timers_.set(Timer::probe,
                turn.now + (contacts_left_ > 0 ? rules_->first_spacing : rules_->interval));
    return;
  }
  burst_left_ = rules_->burst - 1;
  ask(turn, burst_left_ == 0);
  const bool knows_it_well = estimator_->exchanges() >= rules_->rest_after;
  timers_.set(Timer::probe, turn.now + rules_->interval * (knows_it_well ? 2 : 1));
}

void Sync::ask(Turn<Sync>& turn, bool counts) {
  if (++exchange_ == 0) exchange_ = 1;
  asked_[exchange_ % asked_.size()] = {
      .exchange = exchange_, .counts = counts, .asked = stamp(turn.now)};
  Message probe{.kind = Message::Kind::probe,
                .will_follow = counts && rules_->follow_ups,
                .exchange = exchange_,
                .scale = scale_};
  if (estimator_->ready()) {
    const clock::Estimate estimate = estimator_->at(turn.now);
    probe.offset = estimate.theta;
    probe.rate_ppt = whole(estimate.rate);
    probe.sigma = std::max(estimate.sigma, Nanos{1});
    probe.sent = *error(turn.now);
    probe.bound = std::max(estimate.latest - estimate.theta, estimate.theta - estimate.earliest);
  }
  turn.out.send(reference_, probe);
}

void Sync::receive(Turn<Sync>& turn, NodeId from, const Message& message) {
  switch (message.kind) {
    case Message::Kind::probe:
      on_probe(turn, from, message);
      break;
    case Message::Kind::echo:
      if (from == reference_) on_echo(turn, message);
      break;
    case Message::Kind::follow_up:
      if (from == reference_) on_follow_up(turn, message);
      break;
    case Message::Kind::shift:
      on_shift(turn, from, message);
      break;
  }
}

void Sync::on_echo(Turn<Sync>& turn, const Message& message) {
  const auto found = std::ranges::find(asked_, message.exchange, &Asked::exchange);
  if (found == asked_.end() || message.exchange == 0 || found->answered) return;
  found->answered = true;
  found->received = message.received;
  found->sent = message.sent;
  found->heard = arrival(turn, message);
  first_heard_ = std::min(first_heard_, turn.now);
  last_heard_ = turn.now;
  published_ = {.at = message.received,
                .offset = message.offset,
                .rate_ppt = message.rate_ppt,
                .bound = std::max(message.bound, Nanos{0})};
  if (message.scale > scale_) {
    scale_ = message.scale;
    shift_left_ = 0;
    timers_.stop(Timer::shift);
    may_step_ = true;
    owed_ = corrected_;
  }
  if (!message.will_follow) complete(turn, *found);
  if (burst_left_ > 0) {
    --burst_left_;
    ask(turn, burst_left_ == 0);
  }
}

void Sync::on_follow_up(Turn<Sync>& turn, const Message& message) {
  const auto found = std::ranges::find(asked_, message.exchange, &Asked::exchange);
  if (found == asked_.end() || message.exchange == 0 || !found->answered) return;
  // A stamp of departure lies between the arrival of the question and, at the latest, some time
  // after the answer was handed to the kernel.
  if (message.sent >= found->received) found->sent = message.sent;
  complete(turn, *found);
}

// Answers whose follow_up was lost count with the stamp they carried.
void Sync::finish_unfollowed(Turn<Sync>& turn) {
  for (Asked& asked : asked_)
    if (asked.exchange != 0 && asked.answered) complete(turn, asked);
}

void Sync::complete(Turn<Sync>& turn, Asked& asked) {
  const Asked done = std::exchange(asked, Asked{});
  if (!done.counts) return;
  if (!estimator_->add({.asked = done.asked,
                        .received = WallTime{done.received},
                        .answered = WallTime{done.sent},
                        .heard = done.heard}))
    return;
  ++exchanges_;
  turn.out.note({.what = Notice::What::measured,
                 .peer = reference_,
                 .by = error(turn.now).value_or(Nanos{0})});
  if (owed_) correct(turn);
}

WallTime Sync::network_at(Nanos master_raw) const {
  const double passed = static_cast<double>((master_raw - published_.at).count());
  return WallTime{master_raw + published_.offset +
                  Nanos{std::llround(passed * part(published_.rate_ppt))}};
}

std::optional<Nanos> Sync::error(Instant now) const {
  if (leads_) return Nanos{0};
  if (!estimator_ || !estimator_->ready()) return std::nullopt;
  return clock_.at(now) - network_at(raw_of(now) - estimator_->at(now).theta);
}

void Sync::correct(Turn<Sync>& turn) {
  if (reference_ == kNobody || !estimator_) return;
  if (estimator_->exchanges() < kExchangesToSet) {
    owed_ = true;
    return;
  }
  owed_ = false;
  const clock::Estimate estimate = estimator_->at(turn.now);
  Nanos wrong = *error(turn.now);
  // A newcomer is set before it is slewed, also when its Slaveup, and so its Settime, was lost.
  if (!corrected_ && held_bound_ < Nanos{0}) may_step_ = true;
  // The first exchanges may have waited for an address to be resolved, one way only: until the
  // first contact is over, whoever was set wrongly is set again.
  const Nanos worth_a_step = corrected_ ? kWorthAStep : Nanos{0};
  if (std::chrono::abs(wrong) > rules_->step_limit ||
      (may_step_ && std::chrono::abs(wrong) >= worth_a_step)) {
    clock_.step(-wrong);
    turn.out.note({.what = Notice::What::stepped, .peer = reference_, .by = -wrong});
    wrong = Nanos{0};
  }
  if (estimator_->exchanges() >= rules_->first_burst) may_step_ = false;
  corrected_ = true;
  if (knows_rate(turn.now, estimate)) base_rate_ = published_.rate_ppt - whole(estimate.rate);
  const double limit = rules_->slew_limit;
  const double seconds = static_cast<double>(wrong.count()) * 1e-9;
  const double slew_seconds = std::max(kSlewSeconds, std::abs(seconds) / limit);
  clock_.set_rate(turn.now, std::clamp(part(base_rate_), -limit, limit) - seconds / slew_seconds);
  timers_.set(Timer::settle, turn.now + Nanos{std::llround(slew_seconds * 1e9)});
  turn.out.note({.what = Notice::What::steered, .peer = reference_});
}

// Over a short time noise looks like a rate: until it cannot, the rate we ran at before is better.
bool Sync::knows_rate(Instant now, const clock::Estimate& estimate) const {
  if (first_heard_ >= now) return false;
  const auto seen = static_cast<double>((now - first_heard_).count());
  return 4 * static_cast<double>(estimate.sigma.count()) / seen < kRateDoubt;
}

// --- leading ---

void Sync::lead(Turn<Sync>& turn) {
  if (leads_) return;
  leads_ = true;
  reference_ = kNobody;
  estimator_.reset();
  asked_ = {};
  contacts_left_ = burst_left_ = 0;
  owed_ = may_step_ = false;
  members_.clear();
  timers_.stop(Timer::probe);
  timers_.stop(Timer::settle);
  timers_.set(Timer::round, turn.now + rules_->interval);
  clock_.set_rate(turn.now, std::clamp(part(base_rate_), -rules_->slew_limit, rules_->slew_limit));
  turn.out.note({.what = Notice::What::steered});
}

// Answered whether we lead or not: a master of this network may follow one in another.
void Sync::on_probe(Turn<Sync>& turn, NodeId from, const Message& message) {
  if (message.sigma > Nanos{0}) {
    Member& member = members_[from];
    member.heard = turn.now;
    member.offset = message.offset;
    member.error = message.sent;
    member.rate_ppt = message.rate_ppt;
    member.sigma = message.sigma;
    member.bound = message.bound;
  }
  if (!leads_ && !corrected_) return;  // we have no network time to tell
  const Instant arrived = arrival(turn, message);
  const Reading now = reading(turn.now);
  turn.out.send(from, {.kind = Message::Kind::echo,
                       .will_follow = rules_->follow_ups && message.will_follow,
                       .exchange = message.exchange,
                       .scale = scale_,
                       .received = raw_of(arrived),
                       .sent = raw_of(stamp(turn.now)),
                       .offset = clock_.at(arrived).time_since_epoch() - raw_of(arrived),
                       .rate_ppt = whole(clock_.rate()),
                       .bound = std::max(now.latest - now.time, now.time - now.earliest)});
}

// The plain average of the rates of all raw clocks that agree, our own among them.
void Sync::average(Turn<Sync>& turn) {
  const Instant too_old = turn.now - kIntervalsToForget * rules_->interval;
  const auto members = members_.sorted();
  // Two rates agree if each may be wrong by half the range.
  const auto claim = [&](double rate) {
    return clock::Interval{.low = rate - rules_->agreement / 2,
                           .high = rate + rules_->agreement / 2};
  };
  std::vector<double> rates{0.0};
  std::vector<clock::Interval> claims{claim(0.0)};
  for (const auto& slot : members) {
    if (slot.value.heard < too_old) continue;
    rates.push_back(part(slot.value.rate_ppt));
    claims.push_back(claim(rates.back()));
  }
  const clock::ConsistentGroup group = clock::largest_consistent(claims);
  double sum = 0;
  double low = rates[group.members.front()];
  double high = low;
  for (const std::size_t i : group.members) {
    sum += rates[i];
    low = std::min(low, rates[i]);
    high = std::max(high, rates[i]);
  }
  for (const auto& slot : members) {
    const double rate = part(slot.value.rate_ppt);
    members_[slot.key].faulty = rate < low || rate > high;
  }
  const double target = sum / static_cast<double>(group.members.size());
  const double limited = std::clamp(target, -rules_->slew_limit, rules_->slew_limit);
  base_rate_ += (whole(limited) - base_rate_) / kRoundsToAverage;
  clock_.set_rate(turn.now, part(base_rate_));
  turn.out.note({.what = Notice::What::steered});
}

// --- setting network time by hand ---

void Sync::send_shift(Turn<Sync>& turn) {
  if (shift_left_ == 0 || reference_ == kNobody) return;
  --shift_left_;
  turn.out.send(reference_, {.kind = Message::Kind::shift,
                             .exchange = shift_number_,
                             .scale = scale_,
                             .offset = shift_by_});
  if (shift_left_ > 0) timers_.set(Timer::shift, turn.now + kShiftPause);
}

// One that leads acts, once; one that follows passes it on towards the root.
void Sync::on_shift(Turn<Sync>& turn, NodeId from, const Message& message) {
  if (message.scale != scale_ || shifts_done_[from] == message.exchange) return;
  shifts_done_[from] = message.exchange;
  if (leads_)
    shift_network(turn, message.offset);
  else
    command(turn, {.what = Command::What::shift, .by = message.offset});
}

void Sync::shift_network(Turn<Sync>& turn, Nanos by) {
  clock_.step(by);
  ++scale_;
  turn.out.note({.what = Notice::What::shifted, .by = by});
  turn.out.note({.what = Notice::What::stepped, .by = by});
}

// --- both ---

void Sync::wake(Turn<Sync>& turn, TimerId id) {
  const auto timer = static_cast<Timer>(id);
  if (turn.now < timers_.at(id)) return;
  timers_.stop(timer);
  switch (timer) {
    case Timer::probe:
      if (reference_ != kNobody) begin_burst(turn);
      break;
    case Timer::settle:
      clock_.set_rate(turn.now,
                      std::clamp(part(base_rate_), -rules_->slew_limit, rules_->slew_limit));
      turn.out.note({.what = Notice::What::steered, .peer = reference_});
      break;
    case Timer::round:
      average(turn);
      timers_.set(Timer::round, turn.now + rules_->interval);
      break;
    case Timer::shift:
      send_shift(turn);
      break;
    case Timer::count:
      CHECK(false);
  }
}

Reading Sync::reading(Instant now) const {
  Reading reading{.time = clock_.at(now)};
  if (leads_) {
    reading.earliest = reading.latest = reading.time;
    reading.status = Reading::Status::leads;
    return reading;
  }
  if (!corrected_) {
    if (held_bound_ < Nanos{0}) {
      reading.earliest = WallTime::min();
      reading.latest = WallTime::max();
      return reading;
    }
    const double held = static_cast<double>((now - held_since_).count());
    const Nanos doubt = held_bound_ + Nanos{std::llround(held * kHeldWander)};
    reading.earliest = reading.time - doubt;
    reading.latest = reading.time + doubt;
    reading.status = Reading::Status::holdover;
    return reading;
  }
  const clock::Estimate estimate = estimator_->at(now);
  const Nanos raw = raw_of(now);
  const Nanos unheard = now - last_heard_;
  const Nanos doubt =
      published_.bound + Nanos{std::llround(static_cast<double>(unheard.count()) * kMasterWander)};
  reading.earliest = std::min(network_at(raw - estimate.latest) - doubt, reading.time);
  reading.latest = std::max(network_at(raw - estimate.earliest) + doubt, reading.time);
  if (unheard > kIntervalsToHoldover * rules_->interval)
    reading.status = Reading::Status::holdover;
  else
    reading.status = Reading::Status::synchronized;
  return reading;
}

const char* Sync::check() const {
  if (leads_ && reference_ != kNobody) return "a node that leads follows";
  if (leads_ && !timers_.running(Timer::round)) return "a node that leads makes no rounds";
  if (reference_ != kNobody && !estimator_) return "a node that follows estimates nothing";
  if (reference_ != kNobody && !timers_.running(Timer::probe))
    return "a node that follows asks nothing";
  return nullptr;
}

}  // namespace tempo::node
