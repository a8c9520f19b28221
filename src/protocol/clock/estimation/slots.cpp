#include "protocol/clock/estimation/slots.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace tempo::clock {
namespace {

constexpr double kLimitFactor = 2;      // spreads above the median
constexpr double kUsualHorizon = 1000;  // slots in the mean of the usual spread

}  // namespace

std::int64_t Slots::number_of(const Sample& sample) {
  return static_cast<std::int64_t>(std::floor(sample[Direction::forward].t));
}

bool Slots::add(const Sample& corrected, const Sample& raw, double rate) {
  const std::int64_t number = number_of(corrected);
  const bool counts = corrected.round_trip() <= outlier_limit_;
  if (!empty() && number == newest().number) {
    Slot& slot = newest();
    for (const Direction direction : kDirections) {
      const Line slope{.rate = rate, .origin = slot.time};
      if (corrected[direction].delay(direction, slope) <
          slot.least[direction].delay(direction, slope)) {
        slot.least[direction] = corrected[direction];
        slot.raw[index(direction)] = raw[direction].value;
      }
    }
    if (counts) {
      slot.weight += 1;
      slot.time += (corrected.when() - slot.time) / slot.weight;
      slot.middle += (corrected.middle() - slot.middle) / slot.weight;
    }
    return false;
  }
  CHECK(empty() || number > newest().number);
  if (slots_.empty()) slots_.reserve(kCapacity);
  if (slots_.size() == kCapacity) slots_.erase(slots_.begin(), slots_.end() - kKept);
  slots_.push_back({.number = number,
                    .least = corrected,
                    .raw = {raw[Direction::forward].value, raw[Direction::reverse].value},
                    .time = corrected.when(),
                    .middle = corrected.middle(),
                    .weight = counts ? 1.0 : 0.0,
                    .round_trip = corrected.round_trip(),
                    .noise = 0,
                    .theta = {},
                    .sigma = 0,
                    .span = 1});
  ++opened_;
  if (opened_ % kLimitEvery == 0) measure_outlier_limit();
  newest().noise = measure_noise();
  return true;
}

void Slots::measure_outlier_limit() {
  std::array<double, kLimitSlots> trips{};
  const std::size_t count = std::min(size(), kLimitSlots);
  for (std::size_t age = 0; age < count; ++age) trips[age] = back(age).round_trip;
  const auto middle = trips.begin() + static_cast<std::ptrdiff_t>((count - 1) / 2);
  const auto end = trips.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(trips.begin(), middle, end);
  spread_ = *middle - *std::min_element(trips.begin(), middle + 1);
  outlier_limit_ = *middle + kLimitFactor * spread_;
  usual_count_ = std::min(usual_count_ + 1, kUsualHorizon / kLimitEvery);
  usual_spread_ += (spread_ - usual_spread_) / usual_count_;
}

double Slots::measure_noise() const {
  // Few slots for the median, so that it follows a change of load soon; more for the minimum.
  std::array<double, kNoiseSlots> trips{};
  double least = newest().round_trip;
  const std::size_t count = std::min(size(), kLimitSlots);
  for (std::size_t age = 0; age < count; ++age) {
    const double trip = back(age).round_trip;
    if (age < kNoiseSlots) trips[age] = trip;
    least = std::min(least, trip);
  }
  const auto used = static_cast<std::ptrdiff_t>(std::min(count, kNoiseSlots));
  const auto middle = trips.begin() + (used - 1) / 2;
  std::nth_element(trips.begin(), middle, trips.begin() + used);
  return *middle - least;
}

void Slots::lower(Direction direction, double by, std::size_t count) {
  for (std::size_t age = 0; age < count; ++age) {
    Slot& slot = back(age);
    slot.least[direction].value -= by;
    slot.middle += sign(direction) * by / 2;
    slot.round_trip -= by;
    if (slot.weight == 0 && slot.round_trip <= outlier_limit_) slot.weight = 1;
  }
}

void Slots::shift(double by) {
  for (Slot& slot : slots_) {
    for (const Direction direction : kDirections) {
      slot.least[direction].value -= sign(direction) * by;
      slot.raw[index(direction)] -= sign(direction) * by;
    }
    slot.middle += by;
    slot.theta.value += by;
  }
}

}  // namespace tempo::clock
