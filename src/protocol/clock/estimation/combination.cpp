#include "protocol/clock/estimation/combination.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace tempo::clock {
namespace {

constexpr double kLeastSquaresFactor = 1.5;  // factor of the cost of a least squares line
constexpr double kUntested = 0.5;  // raises the cost of a window with few tests for its length
constexpr std::uint64_t kGrowthSlots = 128;  // grow() is used up to this number of slots
constexpr std::size_t kGrowthReach = 2;  // windows beyond the longest scored one that get a cost
constexpr std::size_t kRangeSlots = 4;   // slots needed to use the range of round trips
constexpr double kInfinite = std::numeric_limits<double>::infinity();

using Costs = std::array<double, kWindows.size()>;  // infinite: the window cannot be used

double slots_of(std::size_t window) { return static_cast<double>(kWindows[window]); }

Costs scored_costs(const Scores& scores, Kind kind) {
  Costs costs;
  costs.fill(kInfinite);
  for (std::size_t k = 0; k < kWindows.size(); ++k)
    if (scores.scored(kind, k))
      costs[k] =
          scores.smooth_error(kind, k) * (1 + kUntested * slots_of(k) / scores.tests(kind, k));
  return costs;
}

// In the first minutes the longest scored window is usually the best, and longer windows are better
// than it. If so, this extrapolates its score to the next longer windows.
void grow(Costs& costs, const Scores& scores, const CandidateFits& fits, Kind kind) {
  std::optional<std::size_t> longest;
  double least = kInfinite;
  for (std::size_t k = 0; k < kWindows.size(); ++k)
    if (scores.scored(kind, k)) {
      longest = k;
      least = std::min(least, scores.error(kind, k));
    }
  if (!longest || scores.error(kind, *longest) > least) return;
  const std::size_t end = std::min(*longest + kGrowthReach + 1, kWindows.size());
  for (std::size_t k = *longest + 1; k < end; ++k)
    if (fits.candidates()[kind][k].present)
      costs[k] = scores.smooth_error(kind, *longest) * slots_of(*longest) / slots_of(k);
}

// The square of the lowest noise in the newer half of each window: a window that still contains
// quiet slots is as accurate as before.
Costs quietest(const Slots& slots) {
  Costs squares;
  squares.fill(kInfinite);
  double least = kInfinite;
  std::size_t age = 0;
  for (std::size_t k = 0; k < kWindows.size(); ++k) {
    for (; age < std::min(kWindows[k] / 2, slots.size()); ++age)
      least = std::min(least, slots.back(age).noise);
    squares[k] = least * least;
  }
  return squares;
}

// Raises the costs if there is more noise now than during the tests. In windows up to the best one
// the errors are noise; in longer windows the noise decreases with the length (least squares) or
// its square (envelope).
void raise_noise(Costs& costs, const Costs& noise, double tested, Kind kind) {
  if (tested <= 0) return;
  const auto best = static_cast<std::size_t>(std::ranges::min_element(costs) - costs.begin());
  const double least = costs[best];
  for (std::size_t k = 0; k < costs.size(); ++k) {
    if (costs[k] == kInfinite) continue;
    const double shorter = slots_of(best) / slots_of(k);
    const double noise_part = kind == Kind::envelope ? shorter * shorter : shorter;
    const double ratio = std::max(1.0, noise[k] / tested);
    costs[k] += (ratio - 1) * (k <= best ? costs[k] : least * noise_part);
  }
}

// Range of the slots' round trips: the largest error of the first fitted lines.
double range_of_trips(const Slots& slots) {
  double least = slots.newest().round_trip;
  double greatest = least;
  for (std::size_t age = 0; age < slots.size(); ++age) {
    least = std::min(least, slots.back(age).round_trip);
    greatest = std::max(greatest, slots.back(age).round_trip);
  }
  return greatest - least;
}

Combination from_start(const Slots& slots, const CandidateFits& fits, double rate) {
  if (slots.size() < kLeastWindow) {
    const Envelope envelope = first_envelope(slots, rate);
    // Two or three round trips may be equal by chance.
    const double sigma = slots.size() < kRangeSlots
                             ? envelope.margin
                             : std::min(envelope.margin, range_of_trips(slots));
    return {.theta = envelope.theta, .sigma = std::max(sigma, 1e-6)};
  }
  std::size_t longest = 0;
  for (std::size_t k = 0; k < kWindows.size(); ++k)
    if (fits.candidates()[Kind::envelope][k].usable()) longest = k;
  const Candidate& candidate = fits.candidates()[Kind::envelope][longest];
  return {.theta = candidate.theta,
          .sigma = std::max(std::min(candidate.margin, range_of_trips(slots)) / 4, 0.25e-6),
          .window = longest};
}

}  // namespace

Combination combine(const Slots& slots, const CandidateFits& fits, const Scores& scores,
                    double rate) {
  PerCandidate<double> costs;
  Combination best;
  double least = kInfinite;
  const Costs noise = quietest(slots);
  for (const Kind kind : kKinds) {
    Costs& of_kind = costs[kind];
    of_kind = scored_costs(scores, kind);
    if (slots.opened() <= kGrowthSlots) grow(of_kind, scores, fits, kind);
    raise_noise(of_kind, noise, scores.tested_noise(kind), kind);
    for (std::size_t k = 0; k < kWindows.size(); ++k) {
      if (!fits.candidates()[kind][k].usable()) of_kind[k] = kInfinite;
      if (kind == Kind::least_squares) of_kind[k] *= kLeastSquaresFactor;
      if (of_kind[k] < least) {
        least = of_kind[k];
        best.kind = kind;
        best.window = k;
      }
    }
  }
  if (least == kInfinite) return from_start(slots, fits, rate);

  best.tests = scores.tests(best.kind, best.window);
  best.theta = {.value = 0, .rate = 0, .origin = slots.newest().time};
  double weights = 0;
  double errors = 0;
  for (const Kind kind : kKinds)
    for (std::size_t k = 0; k < kWindows.size(); ++k) {
      const double cost = costs[kind][k];
      if (cost == kInfinite) continue;
      const double weight = (least / cost) * (least / cost);
      const Line& theta = fits.candidates()[kind][k].theta;
      weights += weight;
      errors += weight * cost;
      best.theta.value += weight * theta.value;
      best.theta.rate += weight * theta.rate;
    }
  best.theta.value /= weights;
  best.theta.rate /= weights;
  best.sigma = std::sqrt(errors / weights);
  return best;
}

}  // namespace tempo::clock
