#include "protocol/clock/estimation/scores.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace tempo::clock {
namespace {

constexpr double kFade = 1 - 1.0 / 1000;  // decay per test: a horizon of a thousand slots
constexpr double kLeastPart = 0.2;        // least error, as a part of the future line's error
constexpr double kNoise = 1e-18;          // added to an error: a nanosecond, squared
constexpr double kChange = 0.8;  // a new reference must have less than this part of the error

}  // namespace

void Scores::judge(const Slots& slots, const CandidateFits& fits) {
  for (const Kind kind : kKinds) {
    const std::size_t reference = reference_[index(kind)];
    const std::size_t age = kWindows[reference];
    const Candidate& future = fits.candidates()[kind][reference];
    if (age >= slots.size() || !future.usable()) continue;
    const double truth = future.theta.at(slots.back(age).time);
    const auto own = fits.past_value(kind, reference, age);
    if (!own) continue;
    const double part = (*own - truth) * (*own - truth) / 2;
    for (std::size_t k = 0; k < kWindows.size(); ++k) {
      const auto past_value = fits.past_value(kind, k, age);
      if (!past_value) continue;
      Tally& tally = tallies_[kind][k];
      tally.gaps = tally.gaps * kFade + (*past_value - truth) * (*past_value - truth);
      tally.future = tally.future * kFade + part;
      tally.tests = tally.tests * kFade + 1;
    }
    // The accuracy of a line depends on the quietest part of its window.
    const double past = slots.back(age).noise;
    double future_noise = past;
    for (std::size_t i = 0; i < age; ++i)
      future_noise = std::min(future_noise, slots.back(i).noise);
    Noise& noise = noise_[index(kind)];
    noise.squares = noise.squares * kFade + (past * past + future_noise * future_noise) / 2;
    noise.tests = noise.tests * kFade + 1;
    choose_reference(kind);
    smooth(kind);
  }
}

bool Scores::scored(Kind kind, std::size_t window) const {
  return tallies_[kind][window].tests >= static_cast<double>(kWindows[window]) / 2;
}

double Scores::error(Kind kind, std::size_t window) const {
  CHECK(scored(kind, window));
  const Tally& tally = tallies_[kind][window];
  const double future = tally.future / tally.tests;
  return std::max(tally.gaps / tally.tests - future, kLeastPart * future) + kNoise;
}

double Scores::tested_noise(Kind kind) const {
  const Noise& noise = noise_[index(kind)];
  return noise.tests > 0 ? noise.squares / noise.tests : 0;
}

void Scores::choose_reference(Kind kind) {
  std::size_t& reference = reference_[index(kind)];
  std::size_t best = reference;
  for (std::size_t k = 0; k < kWindows.size(); ++k)
    if (scored(kind, k) && (!scored(kind, best) || error(kind, k) < error(kind, best))) best = k;
  if (!scored(kind, best)) return;
  if (!scored(kind, reference) || error(kind, best) < kChange * error(kind, reference))
    reference = best;
}

void Scores::smooth(Kind kind) {
  // The geometric mean with weights 1, 2, 1; the middle value replaces a missing neighbour.
  for (std::size_t k = 0; k < kWindows.size(); ++k) {
    if (!scored(kind, k)) continue;
    const double middle = error(kind, k);
    const double left = k > 0 && scored(kind, k - 1) ? error(kind, k - 1) : middle;
    const double right =
        k + 1 < kWindows.size() && scored(kind, k + 1) ? error(kind, k + 1) : middle;
    smooth_[kind][k] = std::sqrt(middle * std::sqrt(left * right));
  }
}

}  // namespace tempo::clock
