#include "protocol/clock/estimation/candidate_fits.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tempo::clock {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kMaxRate = 200e-6;

// Sums of a weighted least-squares line, relative to the newest slot.
struct Sums {
  double w = 0;
  double x = 0;
  double y = 0;
  double xx = 0;
  double xy = 0;
  std::size_t slots = 0;

  void add(double weight, double t, double value) {
    w += weight;
    x += weight * t;
    y += weight * value;
    xx += weight * t * t;
    xy += weight * t * value;
    ++slots;
  }

  std::optional<Line> solve(double origin, double value) const {
    constexpr std::size_t kLeast = 4;
    const double det = w * xx - x * x;
    if (slots < kLeast || !(det > 0)) return std::nullopt;
    const double rate = (w * xy - x * y) / det;
    return Line{.value = value + (y - rate * x) / w, .rate = rate, .origin = origin};
  }
};

}  // namespace

void CandidateFits::fit(const Slots& slots, bool opened) {
  if (opened) {
    if (history_.empty()) history_.reserve(kCapacity);
    if (history_.size() == kCapacity)
      history_.erase(history_.begin(), history_.end() - Slots::kKept);
    history_.emplace_back();
  }
  out_.clear();
  back_.clear();
  const double origin = slots.newest().time;
  const double level = slots.newest().middle;
  Sums sums;
  std::size_t window = 0;
  candidates_ = {};
  const std::size_t count = std::min(slots.size(), kWindows.back());
  for (std::size_t age = 0; age < count; ++age) {
    const Slot& slot = slots.back(age);
    out_.push(slot.least[Direction::forward]);
    back_.push(slot.least[Direction::reverse]);
    if (slot.weight > 0) sums.add(slot.weight, slot.time - origin, slot.middle - level);
    if (age + 1 < kWindows[window]) continue;
    const Envelope envelope = widest(out_, back_, origin, 0);
    candidates_[Kind::envelope][window] = {
        .theta = envelope.theta, .margin = envelope.margin, .present = true};
    if (const std::optional<Line> line = sums.solve(origin, level))
      candidates_[Kind::least_squares][window] = {.theta = *line, .margin = 0, .present = true};
    ++window;
  }
  for (const Kind kind : kKinds)
    for (std::size_t k = 0; k < kWindows.size(); ++k) {
      const Candidate& candidate = candidates_[kind][k];
      history_.back()[kind][k] = candidate.present ? candidate.theta.value : kNaN;
    }
}

void CandidateFits::reject(std::size_t from) {
  for (const Kind kind : kKinds)
    for (std::size_t k = from; k < kWindows.size(); ++k) {
      candidates_[kind][k].bent = true;
      history_.back()[kind][k] = kNaN;
    }
}

std::optional<double> CandidateFits::past_value(Kind kind, std::size_t window,
                                                std::size_t age) const {
  if (age >= history_.size()) return std::nullopt;
  const double value = history_[history_.size() - 1 - age][kind][window];
  if (std::isnan(value)) return std::nullopt;
  return value;
}

void CandidateFits::shift(double by, std::size_t count) {
  for (std::size_t age = 0; age < std::min(count, history_.size()); ++age)
    for (auto& kind : history_[history_.size() - 1 - age].values)
      for (double& value : kind) value += by;
}

void CandidateFits::forget(std::size_t count) {
  for (std::size_t age = 0; age < std::min(count, history_.size()); ++age)
    for (auto& kind : history_[history_.size() - 1 - age].values) kind.fill(kNaN);
}

Envelope first_envelope(const Slots& slots, double rate) {
  Hull out(slots.size());
  Hull back(slots.size());
  for (std::size_t age = 0; age < slots.size(); ++age) {
    out.push(slots.back(age).least[Direction::forward]);
    back.push(slots.back(age).least[Direction::reverse]);
  }
  const double origin = slots.newest().time;
  if (slots.size() == 1) return widest_at_rate(out, back, origin, rate);
  const Envelope unlimited = widest(out, back, origin, rate);
  if (std::abs(unlimited.theta.rate) <= kMaxRate) return unlimited;
  return widest_at_rate(out, back, origin, std::clamp(unlimited.theta.rate, -kMaxRate, kMaxRate));
}

}  // namespace tempo::clock
