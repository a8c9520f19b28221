#include "protocol/clock/estimation/path_change_detector.h"

#include <algorithm>
#include <vector>

namespace tempo::clock {
namespace {

constexpr std::uint64_t kFirstSlots = 128;
constexpr std::size_t kShort = 32;  // length of a run above the 95 % or the 50 % quantile
constexpr std::size_t kLong = 96;   // length of a run above the 20 % quantile
constexpr std::size_t kGiveUp = 200;
constexpr double kLeastRise = 1e-6;

std::vector<double> residuals_of(const Slots& slots, Direction direction, const Line& theta,
                                 std::size_t count) {
  std::vector<double> residuals(count);
  for (std::size_t age = 0; age < count; ++age)
    residuals[age] = slots.back(age).least[direction].delay(direction, theta);
  return residuals;
}

// The rise of each direction over the newest `length` slots, by the line from before the run.
std::optional<LongerPath> rise(const Slots& slots, const DelayStats& delay_stats, std::size_t run,
                               std::size_t length, Kind best) {
  const Slot& before = slots.back(std::min(run, slots.size() - 1));
  const double sigma = before.sigma;
  LongerPath longer;
  for (const Direction direction : kDirections) {
    const Quantiles now = quantiles(residuals_of(slots, direction, before.theta, length));
    const Quantiles& then = delay_stats.of(direction);
    if (now.spread() > 3 * then.spread() + 4 * sigma) return std::nullopt;
    const double by = best == Kind::least_squares
                          ? now.median - then.median
                          : now.least - delay_stats.least_of(direction, length);
    const double least = std::max({6 * sigma, 8 * now.spread() / static_cast<double>(length),
                                   kLeastRise, 0.02 * delay_stats.round_trip().least});
    if (by < least) continue;
    longer.by[index(direction)] = by;
    std::size_t& count = longer.slots[index(direction)];
    while (count < slots.size() && slots.back(count).least[direction].delay(
                                       direction, before.theta) >= then.least + 0.8 * by)
      ++count;
  }
  if (longer.by[0] == 0 && longer.by[1] == 0) return std::nullopt;
  return longer;
}

}  // namespace

bool PathChangeDetector::running() const {
  return run_.above_high >= 4 || run_.above_median >= 8 || run_.above_low >= 24;
}

std::optional<LongerPath> PathChangeDetector::close(const Slots& slots,
                                                    const DelayStats& delay_stats,
                                                    const Line& theta, Kind best) {
  if (slots.opened() < kFirstSlots || !delay_stats.known()) return std::nullopt;
  const Slot& slot = slots.newest();
  const double round_trip = slot.least[Direction::forward].delay(Direction::forward, theta) +
                            slot.least[Direction::reverse].delay(Direction::reverse, theta);
  const auto count = [round_trip](std::size_t& run, double limit) {
    run = round_trip > limit ? run + 1 : 0;
  };
  count(run_.above_high, delay_stats.round_trip().high);
  count(run_.above_median, delay_stats.round_trip().median);
  count(run_.above_low, delay_stats.round_trip().low);

  std::optional<LongerPath> longer;
  if (run_.above_high >= kShort)
    longer = rise(slots, delay_stats, run_.above_high, kShort * 3 / 4, best);
  else if (run_.above_median >= kShort)
    longer = rise(slots, delay_stats, run_.above_median, kShort * 3 / 4, best);
  if (!longer && run_.above_low >= kLong)
    longer = rise(slots, delay_stats, run_.above_low, kLong * 3 / 4, best);
  if (longer || run_.above_low > kGiveUp) run_ = {};
  return longer;
}

}  // namespace tempo::clock
