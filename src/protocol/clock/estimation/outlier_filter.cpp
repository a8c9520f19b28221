#include "protocol/clock/estimation/outlier_filter.h"

#include <algorithm>

namespace tempo::clock {
namespace {

constexpr double kLeast = 0.1e-6;
constexpr double kSlack = 1;  // noise without a hard floor goes below what was seen of it

// Below this a delay of one way is not believed.
double floor_of(const Quantiles& delay_stats, double sigma) {
  return delay_stats.least - kSlack * delay_stats.spread() - 8 * sigma - kLeast;
}

}  // namespace

bool OutlierFilter::suspects(const Sample& corrected, const Line& theta, double sigma,
                             const DelayStats& delay_stats) {
  if (!delay_stats.known()) return false;
  return std::ranges::any_of(kWays, [&](Direction way) {
    return corrected[way].delay(way, theta) < floor_of(delay_stats.of(way), sigma);
  });
}

bool OutlierFilter::hold(const Sample& corrected, const Sample& raw, const Line& theta,
                         double sigma, const DelayStats& delay_stats) {
  ++exchanges_;
  std::erase_if(held_, [this](const Held& held) { return held.exchange + kPatience < exchanges_; });
  if (!suspects(corrected, theta, sigma, delay_stats)) return false;
  Held now{.raw = raw, .residuals = {}, .way = Direction::forward, .exchange = exchanges_};
  std::array<double, 2> below{};
  for (const Direction way : kWays) {
    now.residuals[index(way)] = corrected[way].delay(way, theta);
    below[index(way)] = floor_of(delay_stats.of(way), sigma) - now.residuals[index(way)];
  }
  now.way = below[0] >= below[1] ? Direction::forward : Direction::reverse;
  held_.push_back(now);
  return true;
}

std::optional<Verdict> OutlierFilter::verdict(const std::array<double, 2>& correction,
                                              const DelayStats& delay_stats) const {
  if (held_.empty()) return std::nullopt;
  const Direction way = held_.back().way;
  std::vector<double> fell;
  std::vector<double> rose;
  for (const Held& held : held_) {
    if (held.way != way) continue;
    fell.push_back(held.residuals[index(way)]);
    rose.push_back(held.residuals[index(other(way))]);
  }
  if (fell.size() < kAgree) return std::nullopt;
  const auto [lowest, highest] = std::ranges::minmax(fell);
  const double down = delay_stats.of(way).least - lowest;
  if (highest - lowest > 0.5 * down + 4 * delay_stats.of(way).spread()) return std::nullopt;
  const double up = std::ranges::min(rose) - delay_stats.of(other(way)).least;
  if (up > 0.5 * down)
    return Verdict{.what = Verdict::What::clock_jumped,
                   .way = way,
                   .by = sign(way) * (up + down) / 2,
                   .other_by = 0};
  if (correction[index(way)] > 0)
    return Verdict{.what = Verdict::What::old_path,
                   .way = way,
                   .by = std::min(correction[index(way)], down),
                   .other_by = 0};
  return Verdict{.what = Verdict::What::shorter_path,
                 .way = way,
                 .by = down,
                 .other_by = -up > 0.5 * down ? -up : 0};
}

std::vector<Sample> OutlierFilter::release(Direction way) {
  std::vector<Sample> samples;
  for (const Held& held : held_)
    if (held.way == way) samples.push_back(held.raw);
  std::erase_if(held_, [way](const Held& held) { return held.way == way; });
  return samples;
}

}  // namespace tempo::clock
