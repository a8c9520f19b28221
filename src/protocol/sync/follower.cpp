#include "protocol/sync/follower.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "protocol/sync/main_part.h"
#include "protocol/sync/sync.h"

namespace tempo::node {
namespace {

constexpr std::uint32_t kExchangesToSet = 2;
constexpr Nanos kWorthAStep = 1ms;            // smallest step of a node that was set before
constexpr int kIntervalsToHoldover = 5;       // without an echo
constexpr double kFreshSuffices = 0.95;       // weight of the new reference that ends holdover
constexpr double kMarginSigmas = 16;          // standard errors
constexpr Nanos kContradictionMargin = 50us;  // beyond the bounds of an old and a new master

// A smaller offset is closed by slewing within kLongestSlew, even if the clock is certainly wrong.
constexpr Nanos kLongestSlew = 60s;

clock::Estimator::Options estimator_options(const SyncRules& rules) {
  clock::Estimator::Options options;
  options.drift = rules.drift + rules.rate_jump;
  return options;
}

Nanos round_trip_of(const clock::Exchange& exchange) {
  return (exchange.heard - exchange.asked) - (exchange.answered - exchange.received);
}

Nanos bound_of(const clock::Estimate& estimate) {
  return std::max(estimate.latest - estimate.theta, estimate.theta - estimate.earliest);
}

}  // namespace

// --- the reference ---

void Follower::hold_own(const SyncStep& step, Nanos bound,
                        const std::optional<clock::Holdover>& own) {
  rate_known_ = own && own->drift < kUnknownRate;
  held_.lose(step.now(), bound, drift(step.rules));
  if (own) held_.hold_own(*own);
  held_.forget_records();
}

// Keeps the present knowledge of network time when its source is lost. If the node objects to the
// source, it keeps the knowledge from before the objection.
void Follower::hold(SyncStep& step) {
  const Instant now = step.now();
  if (corrected_) {
    const Nanos bound = usual_reading(now, step.clock, step.rules).bound();
    held_.lose(now, bound + step.main_part.doubt(now, unheard(now)), drift(step.rules));
    if (!held_.line() || !objection_.raised()) {
      const clock::Estimate estimate = estimator_->at(now);
      if (!held_.has_records())
        held_.record(record_of(step, estimate, known_at(now, estimate, step.clock.servo)));
      held_.hold_record(last_heard_, false);
    }
  }
  held_.forget_records();
}

void Follower::follow(SyncStep& step, NodeId master) {
  if (reference_ != kNobody) hold(step);
  reference_ = master;
  estimator_.emplace(0.0, estimator_options(step.rules));
  exchanges_.begin(step);
  published_ = {};
  first_heard_ = kNever;
  last_heard_ = Instant{};
  objection_ = {};
  heard_.reset();
  correction_due_ = may_step_ = corrected_ = false;
}

std::optional<clock::Holdover> Follower::end(SyncStep& step) {
  hold(step);
  const std::optional<clock::Holdover> known = held_.line();
  held_.drop_line();
  reference_ = kNobody;
  estimator_.reset();
  exchanges_.end(step);
  correction_due_ = may_step_ = false;
  return known;
}

// --- exchanges ---

void Follower::probe(SyncStep& step) {
  if (exchanges_.in_burst(step.now())) return send_probe(step, exchanges_.continue_burst(step));
  // Exchanges whose FollowUp was lost are evaluated with the timestamp in the Echo.
  for (Exchanges::Pending& pending : exchanges_.pending())
    if (pending.answered) complete(step, pending);
  send_probe(step, exchanges_.begin_burst(step, estimator_->exchanges()));
}

// Exchanges that do not count are stamped too, because stamping is part of the warm-up.
void Follower::send_probe(SyncStep& step, std::uint32_t exchange) {
  const Instant now = step.now();
  Probe probe{.exchange = exchange,
              .wants_follow_up = step.rules.follow_ups,
              .timescale_generation = step.setter.generation()};
  Report& report = probe.report;
  report.objects = objection_.votes(now);
  if (estimator_->ready()) {
    const clock::Estimate estimate = estimator_->at(now);
    const Known known = known_at(now, estimate, step.clock.servo);
    report.offset = estimate.theta;
    report.rate_ppt = to_ppt(estimate.rate);
    report.error = step.shows() - known.time;
    report.sigma = std::max(estimate.sigma, Nanos{1});
    report.bound = bound_of(estimate);
    if (const auto claim = step.utc.claim(now, known.time)) {
      report.utc_gap = claim->gap;
      report.utc_bound = claim->bound + report.bound;
    }
  }
  step.turn.out.send(reference_, probe);
}

void Follower::on_echo(SyncStep& step, const Echo& echo) {
  Exchanges::Pending* const pending = exchanges_.find(echo.exchange);
  if (pending == nullptr || pending->answered) return;
  pending->answered = true;
  pending->received = echo.received;
  pending->sent = echo.sent;
  pending->heard = step.arrival(echo.arrived);
  first_heard_ = std::min(first_heard_, step.now());
  last_heard_ = step.now();
  published_ = {.at = echo.received,
                .offset = echo.offset,
                .rate_ppt = echo.rate_ppt,
                .bound = std::max(echo.bound, Nanos{0})};
  if (step.setter.adopt(step, echo.timescale_generation)) {
    may_step_ = true;
    correction_due_ = corrected_;
    held_.forget();
  }
  if (!echo.follow_up_comes) complete(step, *pending);
  if (exchanges_.in_burst_after(echo.exchange)) send_probe(step, exchanges_.continue_burst(step));
}

void Follower::on_follow_up(SyncStep& step, const FollowUp& follow_up) {
  Exchanges::Pending* const pending = exchanges_.find(follow_up.exchange);
  if (pending == nullptr || !pending->answered) return;
  // A departure cannot precede the arrival of the probe; ignore such a timestamp.
  if (follow_up.sent >= pending->received) pending->sent = follow_up.sent;
  complete(step, *pending);
}

void Follower::on_departure(Instant now, const Departed& departed) {
  Exchanges::Pending* const pending = exchanges_.find(departed.exchange);
  if (pending != nullptr && departed.at <= now) pending->asked = departed.at;
}

void Follower::complete(SyncStep& step, Exchanges::Pending& pending) {
  const Exchanges::Pending done = exchanges_.take(pending);
  const clock::Exchange exchange{.asked = done.asked,
                                 .received = WallTime{done.received},
                                 .answered = WallTime{done.sent},
                                 .heard = done.heard};
  // A long round trip says little, and must not synchronize or step a clock.
  if (!done.counts || round_trip_of(exchange) > step.rules.max_delay) return;
  if (is_impossible(step, exchange) || !estimator_->add(exchange)) return;
  ++measured_;
  heard_.reset();
  if (correction_due_) correct(step);
}

// --- objections ---

bool Follower::is_impossible(SyncStep& step, const clock::Exchange& exchange) {
  // The estimator drops an exchange that no clocks can have produced.
  if (!estimator_->ready() || !estimator_->possible(exchange)) return false;
  if (!estimator_->suspects(exchange) && !contradicts_held(step.now())) {
    objection_.expire(step.now());
    return false;
  }
  object(step, exchange);
  return objection_.lasts(step.now());
}

// Returns to the knowledge from some seconds before the first impossible exchange.
void Follower::object(SyncStep& step, const clock::Exchange& exchange) {
  heard_ = {.at = exchange.asked,
            .earliest = raw_of(exchange.asked) - exchange.received.time_since_epoch(),
            .latest = raw_of(exchange.heard) - exchange.answered.time_since_epoch()};
  const bool first = !objection_.raised();
  objection_.raise(step.now());
  if (!first) return;
  exchanges_.hurry(step);
  if (held_.line() || !held_.has_records()) return;
  held_.hold_record(step.now(), true);
  correct(step);  // the master may send no more Adjtime
}

// Whether the time of this reference and that of its predecessor exclude each other.
bool Follower::contradicts_held(Instant now) const {
  return held_.judges() &&
         excludes(now, held_.line()->line.at(now),
                  2 * held_.bound() + published_.bound + kContradictionMargin + held_.wander(now));
}

// Whether the reference's time, within its bound and `doubt`, excludes `time`.
bool Follower::excludes(Instant now, WallTime time, Nanos doubt) const {
  const clock::Estimate estimate = estimator_->at(now);
  return published_.network_at(raw_of(now) - estimate.latest) > time + doubt ||
         published_.network_at(raw_of(now) - estimate.earliest) < time - doubt;
}

// --- network time ---

// Over a short span noise looks like a rate; until it cannot, the previous rate is better.
bool Follower::knows_rate(Instant now, const clock::Estimate& estimate) const {
  if (first_heard_ >= now) return false;
  const auto seen = static_cast<double>((now - first_heard_).count());
  return 2 * static_cast<double>(estimate.sigma.count()) / seen < TimeScale::kRateDoubt;
}

// Network time from the present reference, combined with holdover while that is the better known.
Follower::Known Follower::known_at(Instant now, const clock::Estimate& estimate,
                                   const clock::Servo& servo) const {
  Known known{.time = published_.network_at(raw_of(now) - estimate.theta),
              .rate = estimate.rate - from_ppt(published_.rate_ppt),
              .sigma = estimate.sigma};
  if (!knows_rate(now, estimate)) known.rate = servo.rate();
  if (!held_.line()) return known;
  const clock::Holdover& held = *held_.line();
  // A fit over a shorter span than the holdover's underestimates its own error.
  const double seen = std::max(in_seconds(now - std::min(first_heard_, now)), 1e-3);
  const double fresh = in_seconds(estimate.sigma) * std::sqrt(1 + held.span / seen);
  // The new master continues with its own holdover, which is about as good as ours.
  const double doubt = std::numbers::sqrt2 * held.doubt(now);
  const double share = objection_.lasts(now) ? 0 : clock::share_of_fresh(doubt, fresh);
  const WallTime line = held.line.at(now);
  known.time = line + Nanos{std::llround(share * static_cast<double>((known.time - line).count()))};
  known.rate = -held.line.rate() + share * (known.rate + held.line.rate());
  known.sigma = Nanos{std::llround(std::sqrt(share) * fresh * 1e9)};
  known.fresh = share;
  return known;
}

clock::Holdover Follower::record_of(const SyncStep& step, const clock::Estimate& estimate,
                                    const Known& known) const {
  return {.line = clock::SteeredClock(step.now(), known.time, -known.rate),
          .since = step.now(),
          .sigma = in_seconds(known.sigma),
          .span = in_seconds(estimate.span),
          .bound = bound_of(estimate) + published_.bound,
          .drift = drift(step.rules)};
}

std::optional<Nanos> Follower::error(Instant now, const LocalClock& clock) const {
  if (!estimator_ || !estimator_->ready()) return std::nullopt;
  return clock.steered.at(now) - known_at(now, estimator_->at(now), clock.servo).time;
}

void Follower::set(SyncStep& step) {
  may_step_ = true;
  correct(step);
}

void Follower::correct(SyncStep& step) {
  const Instant now = step.now();
  if (reference_ == kNobody) return;
  correction_due_ = estimator_->exchanges() < kExchangesToSet;
  if (correction_due_) return;
  // A node that no master has corrected is set, even if its Slaveup, and therefore its Settime, was
  // lost. If it has led since, it is set only if this master does not continue its time.
  if (own_time_)
    may_step_ =
        held_.bound() < Nanos{0} || excludes(now, step.shows(), published_.bound + kWorthAStep);
  // A node that is set must not hold over its old time.
  if (may_step_) held_.drop_line();
  // Too few members objected in time: our own clock was wrong.
  if (held_.against_reference() && !objection_.lasts(now)) held_.concede();
  const clock::Estimate estimate = estimator_->at(now);
  const Known known = known_at(now, estimate, step.clock.servo);
  rate_known_ |= knows_rate(now, estimate);
  if (known.fresh > kFreshSuffices) held_.drop_line();
  if (!objection_.lasts(now)) held_.record(record_of(step, estimate, known));
  // Address resolution may have delayed the first exchanges in one direction. Until the first
  // contact is over, a node that was set wrongly is set again.
  const Nanos worth_a_step = corrected_ ? kWorthAStep : Nanos{0};
  const Nanos limit = step.rules.step_limit;
  Nanos from = may_step_ ? std::min(worth_a_step, limit) : limit;
  // A clock that is certainly wrong must not be wrong for minutes.
  if (excludes(now, step.shows(), published_.bound) && !held_.line())
    from = std::min(from, share_of(kLongestSlew, clock::Servo::kMaxFrequency));
  const clock::Aim aim{.theta = raw_of(now) - known.time.time_since_epoch(), .rate = known.rate};
  if (estimator_->exchanges() >= step.rules.first_burst) may_step_ = false;
  corrected_ = true;
  own_time_ = false;
  step.steer(step.clock.servo.steer(now, step.shows(), aim, {.step_from = from}));
}

// While the node objects, either clock may be wrong: the bound also includes the reference's time
// by the newest exchange, or by the estimate if that exchange was used.
Reading Follower::reading(Instant now, const LocalClock& clock, const SyncRules& rules) const {
  Reading reading = usual_reading(now, clock, rules);
  const bool objects = estimator_ && objection_.lasts(now);
  if (!heard_ && !objects) return reading;
  const Heard theta = heard_ ? *heard_ : Heard::of(now, estimator_->at(now));
  const Nanos doubt = published_.bound + theta.drift(now);
  reading.earliest =
      std::min(reading.earliest, published_.network_at(raw_of(now) - theta.latest) - doubt);
  reading.latest =
      std::max(reading.latest, published_.network_at(raw_of(now) - theta.earliest) + doubt);
  return reading;
}

std::optional<BoundParts> Follower::bound_parts(Instant now, const Reading& reading) const {
  if (!estimator_ || !estimator_->ready() || reading.status == Reading::Status::unsynchronized)
    return std::nullopt;
  const Nanos whole = reading.bound();
  Nanos rest = whole;
  const auto part = [&rest](Nanos most) {
    const Nanos taken = std::clamp(most, Nanos{0}, rest);
    rest -= taken;
    return taken;
  };
  BoundParts parts{.age = now - last_heard_};
  parts.round_trip = part(bound_of(estimator_->at(last_heard_)));
  parts.reference = part(published_.bound);
  parts.drift = part(bound_of(estimator_->at(now)) - bound_of(estimator_->at(last_heard_)) +
                     share_of(parts.age, kMasterWander));
  parts.other = rest;
  return parts;
}

Reading Follower::usual_reading(Instant now, const LocalClock& clock,
                                const SyncRules& rules) const {
  Reading reading{.time = clock.steered.at(now)};
  const auto around = [&](Nanos doubt, Reading::Status status) {
    reading.earliest = reading.time - doubt;
    reading.latest = reading.time + doubt;
    reading.status = status;
    return reading;
  };
  if (!ever_corrected()) {
    reading.earliest = WallTime::min();
    reading.latest = WallTime::max();
    return reading;
  }
  // The next master knew network time no better than this node.
  if (!estimator_ || estimator_->exchanges() < kExchangesToSet)
    return around(2 * (held_.bound() + held_.wander(now)), Reading::Status::holdover);
  const clock::Estimate estimate = estimator_->at(now);
  const Nanos unheard = now - last_heard_;
  const Nanos doubt = published_.bound + share_of(unheard, kMasterWander);
  const WallTime low = published_.network_at(raw_of(now) - estimate.latest) - doubt;
  const WallTime high = published_.network_at(raw_of(now) - estimate.earliest) + doubt;
  reading.earliest = std::min(low, reading.time);
  reading.latest = std::max(high, reading.time);
  reading.status = Reading::Status::synchronized;
  if (held_.line()) {
    const clock::Holdover& held = *held_.line();
    const WallTime line = held.line.at(now);
    const Nanos bound = held.bound_at(now);
    if (objection_.lasts(now))
      return around(held.bound + 2 * std::chrono::abs(line - reading.time) + bound,
                    Reading::Status::holdover);
    // This master's time may exclude the time known before it. Then either may be right.
    const Nanos margin{std::llround(kMarginSigmas * held.doubt(now) * 1e9)};
    if (low > line - margin || high < line + margin) {
      reading.earliest = std::min(reading.earliest, line - bound);
      reading.latest = std::max(reading.latest, line + bound);
    }
  }
  if (unheard <= kIntervalsToHoldover * rules.interval && corrected_) return reading;
  // There may be another master by now, which knew network time no better.
  return around(2 * reading.bound(), Reading::Status::holdover);
}

}  // namespace tempo::node
