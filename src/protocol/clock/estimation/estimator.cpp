#include "protocol/clock/estimation/estimator.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/check.h"
#include "protocol/clock/bound.h"
#include "protocol/clock/holdover.h"

namespace tempo::clock {
namespace {

constexpr std::uint64_t kStatsEvery = 8;  // slots between measurements of the delay statistics
constexpr std::uint64_t kStatsFrom = 16;  // slots before the first measurement
constexpr std::size_t kBefore = 8;        // age, in slots, of the earlier line in suspects()

}  // namespace

bool Estimator::add(const Exchange& exchange) {
  const std::optional<Sample> raw = frame_.sample(exchange);
  if (!raw) return false;
  if (ready() && Slots::number_of(*raw) < slots_.newest().number) return false;
  ++count_;
  if (!outlier_filter_.hold(corrected(*raw), *raw, now_.theta, now_.sigma, delay_stats_)) {
    insert(*raw);
  } else if (const auto verdict = outlier_filter_.verdict(correction_, delay_stats_)) {
    apply(*verdict);
  }
  return true;
}

bool Estimator::suspects(const Exchange& exchange) {
  const std::optional<Sample> raw = frame_.sample(exchange);
  if (!raw) return false;
  if (OutlierFilter::suspects(corrected(*raw), now_.theta, now_.sigma, delay_stats_)) return true;
  if (slots_.size() > kBefore && slots_.back(kBefore).number > changed_in_) {
    const Slot& before = slots_.back(kBefore);
    const double age = frame_.seconds(exchange.heard) - before.theta.origin;
    const double sigma = grown(before.sigma, age, before.span);
    if (OutlierFilter::suspects(corrected(*raw), before.theta, sigma, earlier_stats_)) return true;
  }
  const Estimate now = at(exchange.heard);
  return exchange.asked.time_since_epoch() - exchange.received.time_since_epoch() > now.latest ||
         exchange.heard.time_since_epoch() - exchange.answered.time_since_epoch() < now.earliest;
}

Estimate Estimator::at(Instant now) const {
  CHECK(ready());
  const double t = frame_.seconds(now);
  Interval bound = bound_at(slots_, now_.theta, drift_, outlier_filter_.held(), t, jumped_in_);
  const double resolution = in_seconds(options_.resolution);
  bound.low -= resolution;
  bound.high += resolution;
  return {.theta = frame_.theta_down(std::clamp(now_.theta.at(t), bound.low, bound.high) + 0.5e-9),
          .rate = now_.theta.rate,
          .sigma = Nanos{std::llround(grown(now_.sigma, t - now_.theta.origin, span_) * 1e9)},
          .span = Nanos{std::llround(span_ * 1e9)},
          .earliest = frame_.theta_down(bound.low),
          .latest = frame_.theta_up(bound.high),
          .disturbed = outlier_filter_.disturbed()};
}

Sample Estimator::corrected(const Sample& raw) const {
  Sample sample = raw;
  for (const Direction direction : kDirections)
    sample[direction].value -= correction_[index(direction)];
  return sample;
}

void Estimator::insert(const Sample& raw) {
  if (ready() && Slots::number_of(raw) > slots_.newest().number) close_slot();
  const bool opened = slots_.add(corrected(raw), raw, now_.theta.rate);
  refit(opened);
  if (opened && slots_.opened() >= kStatsFrom && slots_.opened() % kStatsEvery == 0 &&
      !path_.running()) {
    earlier_stats_ = delay_stats_;
    delay_stats_.measure(slots_, now_.theta);
  }
}

void Estimator::close_slot() {
  const auto longer = path_.close(slots_, delay_stats_, now_.theta, now_.kind);
  if (!longer) return;
  changed_in_ = slots_.newest().number;
  bends_.forget();
  for (const Direction direction : kDirections) {
    if (longer->by[index(direction)] == 0) continue;
    slots_.lower(direction, longer->by[index(direction)], longer->slots[index(direction)]);
    correction_[index(direction)] += longer->by[index(direction)];
    fits_.forget(longer->slots[index(direction)]);
  }
  refit(false);
}

void Estimator::apply(const Verdict& verdict) {
  using enum Verdict::What;
  changed_in_ = slots_.newest().number;
  switch (verdict.what) {
    case clock_jumped:
      jumped_in_ = slots_.newest().number;
      slots_.shift(verdict.by);
      fits_.shift(verdict.by, Slots::kKept);
      now_.theta.value += verdict.by;
      break;
    case old_path:
      correction_[index(verdict.direction)] -= verdict.by;
      bends_.forget();
      break;
    case shorter_path:
      bends_.forget();
      slots_.lower(verdict.direction, verdict.by, slots_.size());
      slots_.lower(other(verdict.direction), verdict.other_by, slots_.size());
      fits_.shift(sign(verdict.direction) * (verdict.by - verdict.other_by) / 2, Slots::kKept);
      break;
  }
  refit(false);
  for (const Sample& raw : outlier_filter_.release(verdict.direction))
    if (Slots::number_of(raw) >= slots_.newest().number) insert(raw);
  delay_stats_.measure(slots_, now_.theta);
  earlier_stats_ = delay_stats_;
}

void Estimator::refit(bool opened) {
  fits_.fit(slots_, opened);
  bends_.judge(fits_, opened);
  fits_.reject(bends_.first_bent());
  if (opened) scores_.judge(slots_, fits_);
  now_ = combine(slots_, fits_, scores_, now_.theta.rate);
  drift_ = drift_allowance(slots_, fits_, now_, options_.drift);
  span_ = span_of(slots_, now_.window);
  slots_.newest().theta = now_.theta;
  slots_.newest().sigma = now_.sigma;
  slots_.newest().span = span_;
}

}  // namespace tempo::clock
