#include "protocol/clock/bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tempo::clock {
namespace {

constexpr std::size_t kSlots = 64;
constexpr std::size_t kFirstSlots = 16;  // up to here the allowance is kFirstDrift
constexpr double kFirstDrift = 200e-6;   // frequency error of any usable clock
constexpr std::size_t kEarlySlots = 32;  // up to here kEarlyDrift is added
constexpr double kEarlyDrift = 50e-6;
constexpr double kSigmas = 16;    // standard errors over the span of the window
constexpr double kWander = 1e-6;  // change of a clock's rate within kSlots

// The limits that one exchange sets for theta at time t, relative to the line.
Interval limits_of(const Sample& raw, const Line& theta, double drift, double t) {
  const Reading& out = raw[Direction::forward];
  const Reading& back = raw[Direction::reverse];
  return {.low = -out.delay(Direction::forward, theta) - drift * std::abs(t - out.t),
          .high = back.delay(Direction::reverse, theta) + drift * std::abs(t - back.t)};
}

Sample raw_of(const Slot& slot) {
  Sample raw = slot.least;
  for (const Direction direction : kDirections) raw[direction].value = slot.raw_of(direction);
  return raw;
}

// Whether no clock can have the rate of the line: between the slot of the older half that knows
// theta best and some newer slot, theta has certainly changed more, or less. An attacker who delays
// one direction for a while causes such lines.
bool rate_is_impossible(const Slots& slots, const Line& theta) {
  const std::size_t count = std::min(slots.size(), kSlots);
  Interval best{.low = -1, .high = 1};
  std::size_t best_age = count;
  for (std::size_t age = count / 2; age < count; ++age) {
    const Interval one = limits_of(raw_of(slots.back(age)), theta, 0, 0);
    if (one.high - one.low >= best.high - best.low) continue;
    best = one;
    best_age = age;
  }
  for (std::size_t age = 0; age < count / 2 && best_age < count; ++age) {
    const Interval one = limits_of(raw_of(slots.back(age)), theta, 0, 0);
    const double wander = kWander * (slots.back(age).time - slots.back(best_age).time);
    if (one.low - best.high > wander || best.low - one.high > wander) return true;
  }
  return false;
}

}  // namespace

double span_of(const Slots& slots, std::size_t window) {
  const std::size_t length = std::min(kWindows[window], slots.size());
  return std::max(slots.newest().time - slots.back(length - 1).time, 1.0);
}

double drift_allowance(const Slots& slots, const CandidateFits& fits,
                       const Combination& combination, double least) {
  // The first lines, and those of disturbed paths, may have any slope, but a clock's frequency
  // error is limited.
  if (slots.size() < kFirstSlots || rate_is_impossible(slots, combination.theta))
    return kFirstDrift + std::abs(combination.theta.rate);
  const std::size_t best = combination.window;
  const double span = span_of(slots, best);
  const double untested =
      1 + static_cast<double>(kWindows[best]) / std::max(combination.tests, 1.0);
  const double noise_ratio =
      slots.usual_spread() > 0 ? std::max(1.0, slots.spread() / slots.usual_spread()) : 1.0;
  const double sigma = combination.sigma * untested * noise_ratio;
  double disagreement = 0;
  const std::size_t end = std::min(best + 3, kWindows.size());
  for (std::size_t k = best - std::min<std::size_t>(best, 4); k < end; ++k) {
    const Candidate& candidate = fits.candidates()[combination.kind][k];
    if (candidate.present)
      disagreement =
          std::max(disagreement, std::abs(candidate.theta.rate - combination.theta.rate));
  }
  return least + kSigmas * sigma / span + disagreement +
         (slots.size() < kEarlySlots ? kEarlyDrift : 0);
}

Interval bound_at(const Slots& slots, const Line& theta, double drift,
                  const std::vector<OutlierFilter::Held>& held, double t, std::int64_t jumped_in) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  Interval interval{.low = -kInfinite, .high = kInfinite};
  const std::size_t count = std::min(slots.size(), kSlots);
  for (std::size_t age = 0; age < count; ++age) {
    const Slot& slot = slots.back(age);
    if (age > 0 && slot.number <= jumped_in) break;
    const Interval one = limits_of(raw_of(slot), theta, drift, t);
    const double low = std::max(interval.low, one.low);
    const double high = std::min(interval.high, one.high);
    if (low > high) {
      // The newest slot contradicts itself: the clock drifts faster than the allowance.
      if (age == 0) interval = {.low = high, .high = low};
      break;
    }
    interval = {.low = low, .high = high};
  }
  for (const OutlierFilter::Held& sample : held) {
    const Interval one = limits_of(sample.raw, theta, drift, t);
    interval.low = std::min(interval.low, one.low);
    interval.high = std::max(interval.high, one.high);
  }
  const double line = theta.at(t);
  return {.low = line + interval.low, .high = line + interval.high};
}

}  // namespace tempo::clock
