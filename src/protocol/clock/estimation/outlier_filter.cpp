#include "protocol/clock/estimation/outlier_filter.h"

#include <algorithm>

namespace tempo::clock {
namespace {

constexpr double kLeast = 0.1e-6;  // seconds
constexpr double kSlack = 1;  // in spreads: noise without a hard floor goes below its past minimum

// The smallest delay of one direction that is accepted.
double floor_of(const Quantiles& delay_stats, double sigma) {
  return delay_stats.least - kSlack * delay_stats.spread() - 8 * sigma - kLeast;
}

}  // namespace

bool OutlierFilter::suspects(const Sample& corrected, const Line& theta, double sigma,
                             const DelayStats& delay_stats) {
  if (!delay_stats.known()) return false;
  return std::ranges::any_of(kDirections, [&](Direction direction) {
    return corrected[direction].delay(direction, theta) <
           floor_of(delay_stats.of(direction), sigma);
  });
}

bool OutlierFilter::hold(const Sample& corrected, const Sample& raw, const Line& theta,
                         double sigma, const DelayStats& delay_stats) {
  ++exchanges_;
  std::erase_if(held_, [this](const Held& held) { return held.exchange + kMaxAge < exchanges_; });
  if (!suspects(corrected, theta, sigma, delay_stats)) return false;
  Held now{.raw = raw, .residuals = {}, .direction = Direction::forward, .exchange = exchanges_};
  std::array<double, 2> below{};
  for (const Direction direction : kDirections) {
    now.residuals[index(direction)] = corrected[direction].delay(direction, theta);
    below[index(direction)] =
        floor_of(delay_stats.of(direction), sigma) - now.residuals[index(direction)];
  }
  now.direction = below[0] >= below[1] ? Direction::forward : Direction::reverse;
  held_.push_back(now);
  return true;
}

std::optional<Verdict> OutlierFilter::verdict(const std::array<double, 2>& correction,
                                              const DelayStats& delay_stats) const {
  if (held_.empty()) return std::nullopt;
  const Direction direction = held_.back().direction;
  std::vector<double> fell;
  std::vector<double> rose;
  for (const Held& held : held_) {
    if (held.direction != direction) continue;
    fell.push_back(held.residuals[index(direction)]);
    rose.push_back(held.residuals[index(other(direction))]);
  }
  if (fell.size() < kAgree) return std::nullopt;
  const auto [lowest, highest] = std::ranges::minmax(fell);
  const double down = delay_stats.of(direction).least - lowest;
  if (highest - lowest > 0.5 * down + 4 * delay_stats.of(direction).spread()) return std::nullopt;
  const double up = std::ranges::min(rose) - delay_stats.of(other(direction)).least;
  if (up > 0.5 * down)
    return Verdict{.what = Verdict::What::clock_jumped,
                   .direction = direction,
                   .by = sign(direction) * (up + down) / 2,
                   .other_by = 0};
  if (correction[index(direction)] > 0)
    return Verdict{.what = Verdict::What::old_path,
                   .direction = direction,
                   .by = std::min(correction[index(direction)], down),
                   .other_by = 0};
  return Verdict{.what = Verdict::What::shorter_path,
                 .direction = direction,
                 .by = down,
                 .other_by = -up > 0.5 * down ? -up : 0};
}

std::vector<Sample> OutlierFilter::release(Direction direction) {
  std::vector<Sample> samples;
  for (const Held& held : held_)
    if (held.direction == direction) samples.push_back(held.raw);
  std::erase_if(held_, [direction](const Held& held) { return held.direction == direction; });
  return samples;
}

}  // namespace tempo::clock
