#include "protocol/sync/sync.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace tempo::node {
namespace {

constexpr std::uint32_t kExchangesToSet = 2;
constexpr Nanos kWorthAStep = 1ms;       // smallest step of a node that was set before
constexpr int kIntervalsToHoldover = 5;  // without an echo
constexpr std::uint32_t kSetOffsetSends = 10;
constexpr Nanos kSetOffsetPause = 200ms;
constexpr double kLeaderSigma = 0.1e-6;  // seconds; error of network time at a former master
constexpr double kLeaderSpan = 64;       // seconds; span of its measurements
constexpr double kFreshSuffices = 0.95;  // weight of the new reference that ends holdover
constexpr double kMarginSigmas = 16;     // standard errors

constexpr Nanos kContradictionMargin = 50us;  // beyond the bounds of an old and a new master
constexpr Nanos kObject = 8s;        // length of an objection; then our own clock was wrong
constexpr Nanos kFaultLatency = 6s;  // records older than this precede a fault that is detected now

constexpr Nanos kUtcLifetime = 5s;   // of a CarryUtc
constexpr double kRawRate = 200e-6;  // largest rate error of a raw clock

}  // namespace

std::string_view name_of(Reading::Status status) {
  constexpr std::array<std::string_view, 4> kNames{"unsynchronized", "holdover", "synchronized",
                                                   "leads"};
  return kNames.at(static_cast<std::size_t>(status));
}

std::int64_t Sync::to_ppt(double rate) { return std::llround(rate * 1e12); }

// Rounds an instant down to the resolution of timestamps.
Instant Sync::stamp(Instant instant) const {
  if (rules_->stamp_grain == Nanos{0}) return instant;
  return instant - instant.time_since_epoch() % rules_->stamp_grain;
}

Instant Sync::arrival(Instant now, Instant arrived) const {
  return stamp(arrived == Instant{} ? now : std::min(arrived, now));
}

void Sync::start(Turn<Sync>& /*turn*/) {}

void Sync::command(Turn<Sync>& turn, const Command& command) {
  std::visit([&](const auto& one) { on_command(turn, one); }, command);
}

void Sync::on_command(Turn<Sync>& turn, const Set& /*command*/) {
  may_step_ = true;
  correct(turn);
}

void Sync::on_command(Turn<Sync>& turn, const Departed& departed) {
  if (departed.peer != reference_ || reference_ == kNobody) {
    turn.out.send(departed.peer,
                  FollowUp{.exchange = departed.exchange, .sent = raw_of(departed.at)});
    return;
  }
  const auto found = std::ranges::find(pending_, departed.exchange, &PendingExchange::exchange);
  if (found != pending_.end() && departed.exchange != 0 && departed.at <= turn.now)
    found->asked = departed.at;
}

void Sync::on_command(Turn<Sync>& turn, const SetNetworkTime& command) {
  if (leads_) {
    set_network_time(turn, command.by);
  } else if (reference_ != kNobody) {
    set_offset_by_ = command.by;
    set_offset_sends_left_ = kSetOffsetSends;
    ++set_offset_number_;
    send_set_offset(turn);
  }
}

void Sync::on_command(Turn<Sync>& /*turn*/, const CarryUtc& command) {
  utc_ = {.at = command.at, .beyond_raw = command.utc - raw_of(command.at), .bound = command.bound};
}

// --- following ---

void Sync::follow(Turn<Sync>& turn, NodeId master) {
  if (master == reference_) return;
  const Reading before = reading(turn.now);
  if (leads_ || corrected_) {
    held_since_ = turn.now;
    held_bound_ = std::max(before.latest - before.time, before.time - before.earliest);
  }
  hold(turn.now);
  leads_ = false;
  timers_.stop(Timer::round);
  reference_ = master;
  estimator_.emplace(0.0);
  cold_path_ = {};
  objects_since_ = kNever;
  suspicions_ = 0;
  pending_ = {};
  correction_due_ = false;
  may_step_ = false;
  corrected_ = false;
  contacts_left_ = rules_->first_burst;
  burst_left_ = 0;
  published_ = {};
  first_heard_ = kNever;
  last_heard_ = Instant{};
  members_.end();
  timers_.set(Timer::probe, turn.now);
}

// Keeps the present knowledge of network time as holdover when its source is lost. If the node
// objects to the source, it keeps the knowledge from before the objection.
void Sync::hold(Instant now) {
  if (leads_) {
    held_followed_ = false;
    // While a young network's rate changes, its line cannot be extrapolated.
    if (!members_.young(now)) {
      held_ = {.line = clock_, .since = now, .sigma = kLeaderSigma, .span = kLeaderSpan};
      held_->line.set_rate(now, -servo_.rate());
    }
  } else if (corrected_ && !(held_ && objects_since_ != kNever)) {
    const clock::Estimate estimate = estimator_->at(now);
    if (remembered_count_ == 0) remember(now, estimate, known_at(now, estimate));
    held_ = record_before_fault(last_heard_);
    held_followed_ = true;
  }
  held_against_ = false;
  remembered_count_ = 0;
}

void Sync::remember(Instant now, const clock::Estimate& estimate, const Known& known) {
  remembered_[remembered_count_++ % remembered_.size()] = {
      .line = clock::SteeredClock(now, known.time, -known.rate),
      .since = now,
      .sigma = in_seconds(known.sigma),
      .span = in_seconds(estimate.span),
      .bound = std::max(estimate.latest - estimate.theta, estimate.theta - estimate.earliest) +
               published_.bound};
}

bool Sync::objecting(Instant now) const {
  return objects_since_ != kNever && now - objects_since_ < kObject;
}

// Returns to the knowledge from some seconds before the first impossible exchange.
void Sync::raise_objection(Turn<Sync>& turn) {
  last_objection_ = turn.now;
  ++suspicions_;
  if (objects_since_ != kNever) return;
  objects_since_ = turn.now;
  next_burst_ = turn.now + rules_->first_spacing;
  timers_.set(Timer::probe, std::min(timers_.at(static_cast<TimerId>(Timer::probe)), next_burst_));
  if (held_ || remembered_count_ == 0) return;
  held_ = record_before_fault(turn.now);
  held_followed_ = true;
  held_against_ = true;
  correct(turn);  // the master may send no more Adjtime
}

// The newest record older than kFaultLatency, because members detect a wrong master late.
const clock::Holdover& Sync::record_before_fault(Instant now) const {
  const std::size_t kept = std::min<std::size_t>(remembered_count_, remembered_.size());
  std::size_t age = 1;
  const auto then = [&] { return (remembered_count_ - age) % remembered_.size(); };
  while (age < kept && now - remembered_[then()].since < kFaultLatency) ++age;
  return remembered_[then()];
}

void Sync::receive(Turn<Sync>& turn, NodeId from, const Message& message) {
  std::visit([&](const auto& one) { on_message(turn, from, one); }, message);
}

// An exchange is impossible if the clocks and the path as estimated cannot have produced it: our
// clock or the master's has jumped. The node ignores it until other members have had time to
// object.
bool Sync::is_impossible(Turn<Sync>& turn, const clock::Exchange& exchange) {
  if (!estimator_->ready()) return false;
  if (!estimator_->suspects(exchange) && !contradicts_holdover(turn.now)) {
    if (turn.now - last_objection_ > kObject) {
      objects_since_ = kNever;
      suspicions_ = 0;
    }
    return false;
  }
  raise_objection(turn);
  return objecting(turn.now);
}

WallTime Sync::network_at(Nanos master_raw) const {
  const double passed = static_cast<double>((master_raw - published_.at).count());
  return WallTime{master_raw + published_.offset +
                  Nanos{std::llround(passed * from_ppt(published_.rate_ppt))}};
}

// Network time from the present reference, combined with holdover while that is the better known.
Sync::Known Sync::known_at(Instant now, const clock::Estimate& estimate) const {
  Known known{.time = network_at(raw_of(now) - estimate.theta),
              .rate = estimate.rate - from_ppt(published_.rate_ppt),
              .sigma = estimate.sigma};
  if (!knows_rate(now, estimate)) known.rate = servo_.rate();
  if (!held_) return known;
  // A fit over a shorter span than the holdover's underestimates its own error.
  const double seen = std::max(in_seconds(now - std::min(first_heard_, now)), 1e-3);
  const double fresh = in_seconds(estimate.sigma) * std::sqrt(1 + held_->span / seen);
  // The new master continues with its own holdover, which is about as good as ours.
  const double doubt = std::numbers::sqrt2 * held_->doubt(now);
  const double share = objecting(now) ? 0 : clock::share_of_fresh(doubt, fresh);
  const WallTime held = held_->line.at(now);
  known.time = held + Nanos{std::llround(share * static_cast<double>((known.time - held).count()))};
  known.rate = -held_->line.rate() + share * (known.rate + held_->line.rate());
  known.sigma = Nanos{std::llround(std::sqrt(share) * fresh * 1e9)};
  known.fresh = share;
  return known;
}

std::optional<Nanos> Sync::error(Instant now) const {
  if (leads_) return Nanos{0};
  if (!estimator_ || !estimator_->ready()) return std::nullopt;
  return clock_.at(now) - known_at(now, estimator_->at(now)).time;
}

void Sync::correct(Turn<Sync>& turn) {
  if (reference_ == kNobody || !estimator_) return;
  if (estimator_->exchanges() < kExchangesToSet) {
    correction_due_ = true;
    return;
  }
  correction_due_ = false;
  // A node that no master has corrected is set, even if its Slaveup, and therefore its Settime, was
  // lost. If it has led since, it is set only if this master does not continue its time.
  if (own_time_)
    may_step_ = held_bound_ < Nanos{0} ||
                excludes(turn.now, clock_.at(turn.now), published_.bound + kWorthAStep);
  // A node that is set must not hold over its old time.
  if (may_step_) held_.reset();
  // Too few members objected in time: our own clock was wrong.
  if (held_against_ && !objecting(turn.now)) {
    held_.reset();
    held_against_ = false;
  }
  const clock::Estimate estimate = estimator_->at(turn.now);
  const Known known = known_at(turn.now, estimate);
  if (known.fresh > kFreshSuffices) held_.reset();
  if (!objecting(turn.now)) remember(turn.now, estimate, known);
  // Address resolution may have delayed the first exchanges in one direction. Until the first
  // contact is over, a node that was set wrongly is set again.
  const Nanos worth_a_step = corrected_ ? kWorthAStep : Nanos{0};
  const Nanos from = may_step_ ? std::min(worth_a_step, rules_->step_limit) : rules_->step_limit;
  const clock::Aim aim{.theta = raw_of(turn.now) - known.time.time_since_epoch(),
                       .rate = known.rate};
  if (estimator_->exchanges() >= rules_->first_burst) may_step_ = false;
  corrected_ = true;
  own_time_ = false;
  steer(turn, servo_.steer(turn.now, clock_.at(turn.now), aim, {.step_from = from}));
}

void Sync::steer(Turn<Sync>& turn, const clock::Steering& steering) {
  if (steering.step != Nanos{0}) {
    clock_.step(steering.step);
    turn.out.notify(Stepped{.by = steering.step});
  }
  clock_.set_rate(turn.now, steering.frequency);
  if (steering.settles > Nanos{0})
    timers_.set(Timer::settle, turn.now + steering.settles);
  else
    timers_.stop(Timer::settle);
  turn.out.notify(Steered{});
}

// Over a short span noise looks like a rate; until it cannot, the previous rate is better.
bool Sync::knows_rate(Instant now, const clock::Estimate& estimate) const {
  if (first_heard_ >= now) return false;
  const auto seen = static_cast<double>((now - first_heard_).count());
  return 2 * static_cast<double>(estimate.sigma.count()) / seen < TimeScale::kRateDoubt;
}

// Whether the time of this master and that of its predecessor exclude each other.
bool Sync::contradicts_holdover(Instant now) const {
  if (!held_ || !held_followed_ || held_against_) return false;
  const double age = static_cast<double>((now - held_since_).count());
  const Nanos doubt = 2 * held_bound_ + published_.bound + kContradictionMargin +
                      Nanos{std::llround(age * kHeldWander)};
  return excludes(now, held_->line.at(now), doubt);
}

// Whether the reference's time, within its bound and `doubt`, excludes `time`.
bool Sync::excludes(Instant now, WallTime time, Nanos doubt) const {
  const clock::Estimate estimate = estimator_->at(now);
  return network_at(raw_of(now) - estimate.latest) > time + doubt ||
         network_at(raw_of(now) - estimate.earliest) < time - doubt;
}

// --- carrying UTC ---

// UTC minus `network`; nullopt: this host carries no UTC, or the last CarryUtc is too old.
std::optional<Nanos> Sync::utc_gap(Instant now, WallTime network) const {
  if (utc_.bound <= Nanos{0} || now - utc_.at > kUtcLifetime) return std::nullopt;
  return raw_of(now) + utc_.beyond_raw - network.time_since_epoch();
}

Nanos Sync::utc_bound(Instant now) const {
  const auto age = static_cast<double>((now - utc_.at).count());
  return utc_.bound + Nanos{std::llround(age * kRawRate)};
}

// --- setting network time by hand ---

void Sync::send_set_offset(Turn<Sync>& turn) {
  if (set_offset_sends_left_ == 0 || reference_ == kNobody) return;
  --set_offset_sends_left_;
  turn.out.send(reference_, SetTime{.number = set_offset_number_,
                                    .timescale_generation = timescale_generation_,
                                    .by = set_offset_by_});
  if (set_offset_sends_left_ > 0) timers_.set(Timer::set_offset, turn.now + kSetOffsetPause);
}

// A leader executes the message once; a follower forwards it towards the root.
void Sync::on_message(Turn<Sync>& turn, NodeId from, const SetTime& request) {
  if (request.timescale_generation != announced_generation() ||
      set_offsets_done_[from] == request.number)
    return;
  set_offsets_done_[from] = request.number;
  on_command(turn, SetNetworkTime{.by = request.by});
}

void Sync::set_network_time(Turn<Sync>& turn, Nanos by) {
  clock_.step(by);
  members_.on_step(by);
  ++timescale_generation_;
  turn.out.notify(NetworkTimeSet{.by = by});
  turn.out.notify(Stepped{.by = by});
}

// --- leading and following ---

void Sync::on_timer(Turn<Sync>& turn, TimerId id) {
  const auto timer = static_cast<Timer>(id);
  if (turn.now < timers_.at(id)) return;
  timers_.stop(timer);
  switch (timer) {
    case Timer::probe:
      if (reference_ == kNobody) break;
      if (contacts_left_ > 0)
        contact(turn);
      else if (burst_left_ > 0 && turn.now < next_burst_)
        probe_next(turn, false);
      else
        begin_burst(turn);
      break;
    case Timer::settle:
      steer(turn, servo_.hold());
      break;
    case Timer::round:
      make_round(turn);
      break;
    case Timer::ban_expiry:
      turn.out.notify(Reinstated{});
      break;
    case Timer::set_offset:
      send_set_offset(turn);
      break;
    case Timer::count:
      CHECK(false);
  }
}

Reading Sync::reading(Instant now) const {
  Reading reading{.time = clock_.at(now)};
  const auto around = [&](Nanos doubt, Reading::Status status) {
    reading.earliest = reading.time - doubt;
    reading.latest = reading.time + doubt;
    reading.status = status;
    return reading;
  };
  if (leads_) return around(master_bound(now), Reading::Status::leads);
  const bool ever = corrected_ || held_bound_ >= Nanos{0};
  if (!ever) {
    reading.earliest = WallTime::min();
    reading.latest = WallTime::max();
    return reading;
  }
  const bool answered = estimator_ && estimator_->exchanges() >= kExchangesToSet;
  if (!answered) {
    // The next master knew network time no better than this node.
    const double held = static_cast<double>((now - held_since_).count());
    return around(2 * (held_bound_ + Nanos{std::llround(held * kHeldWander)}),
                  Reading::Status::holdover);
  }
  const clock::Estimate estimate = estimator_->at(now);
  const Nanos raw = raw_of(now);
  const Nanos unheard = now - last_heard_;
  const Nanos doubt =
      published_.bound + Nanos{std::llround(static_cast<double>(unheard.count()) * kMasterWander)};
  const WallTime low = network_at(raw - estimate.latest) - doubt;
  const WallTime high = network_at(raw - estimate.earliest) + doubt;
  reading.earliest = std::min(low, reading.time);
  reading.latest = std::max(high, reading.time);
  if (held_) {
    // This master's time may exclude the time known before it. Then either may be right.
    const WallTime line = held_->line.at(now);
    const Nanos margin{std::llround(kMarginSigmas * held_->doubt(now) * 1e9)};
    if (low > line - margin || high < line + margin) {
      const auto age = static_cast<double>((now - held_->since).count());
      const Nanos either = held_->bound + Nanos{std::llround(age * kHeldWander)};
      reading.earliest = std::min(reading.earliest, line - either);
      reading.latest = std::max(reading.latest, line + either);
    }
  }
  reading.status = Reading::Status::synchronized;
  if (objecting(now) && held_) {
    const double age = static_cast<double>((now - held_->since).count());
    return around(2 * (held_->bound + std::chrono::abs(held_->line.at(now) - reading.time)) +
                      Nanos{std::llround(age * kHeldWander)},
                  Reading::Status::holdover);
  }
  if (unheard <= kIntervalsToHoldover * rules_->interval && corrected_) return reading;
  // There may be another master by now, which knew network time no better.
  return around(2 * std::max(reading.latest - reading.time, reading.time - reading.earliest),
                Reading::Status::holdover);
}

const char* Sync::check() const {
  if (leads_ && reference_ != kNobody) return "a leader has a reference";
  if (leads_ && !timers_.running(Timer::round)) return "a leader without a round timer";
  if (reference_ != kNobody && !estimator_) return "a follower without an estimator";
  if (reference_ != kNobody && !timers_.running(Timer::probe))
    return "a follower without a probe timer";
  return nullptr;
}

}  // namespace tempo::node
