#include "protocol/clock/utc.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "protocol/clock/rejection.h"

namespace tempo::clock {
namespace {

constexpr Nanos kLeapDoubt = 100ms;  // of a step that is a leap second: a slew goes on meanwhile
constexpr double kNarrowest = 1e-9;  // bounds below it weigh no more

// The mean of those who agree, the surer the heavier, where all their claims meet.
std::optional<double> agreed(std::span<const UtcClaim> claims) {
  std::vector<Interval> intervals;
  for (const UtcClaim& claim : claims)
    intervals.push_back({.low = claim.gap - claim.bound, .high = claim.gap + claim.bound});
  const ConsistentGroup group = largest_consistent(intervals);
  if (group.members.size() * 2 <= claims.size()) return std::nullopt;
  double sum = 0;
  double weights = 0;
  for (const std::size_t i : group.members) {
    const double bound = std::max(claims[i].bound, kNarrowest);
    sum += claims[i].gap / (bound * bound);
    weights += 1 / (bound * bound);
  }
  return std::clamp(sum / weights, group.overlap.low, group.overlap.high);
}

double limited(double rate) {
  return std::clamp(rate, -UtcFollower::kMostRate, UtcFollower::kMostRate);
}

}  // namespace

// Gap and trim follow (s + 1/2P)^2 = 0: the fastest way without overshoot. The trim does not learn
// while the rate is at its limit: a large gap says nothing about UTC's rate.
double UtcFollower::round(double elapsed, std::span<const UtcClaim> claims) {
  gap_ = agreed(claims);
  if (!gap_) return rate_ = trim_;
  const double wanted = trim_ + *gap_ / kPeriod;
  rate_ = limited(wanted);
  if (rate_ == wanted) trim_ = limited(trim_ + *gap_ * elapsed / (4 * kPeriod * kPeriod));
  return rate_;
}

Nanos LeapSmear::utc(Instant raw, Nanos real, int tai) {
  if (last_) {
    const Nanos passed = raw - last_->raw;
    const int leap = tai - last_->tai;
    const Nanos stepped = real - last_->real - passed;
    if (std::abs(leap) == 1 && std::chrono::abs(stepped + leap * 1s) < kLeapDoubt)
      owed_ += leap * 1s;
    const Nanos back{std::llround(static_cast<double>(passed.count()) * kGivenBack)};
    owed_ = owed_ > 0ns ? std::max(owed_ - back, Nanos{0}) : std::min(owed_ + back, Nanos{0});
  }
  last_ = {.raw = raw, .real = real, .tai = tai};
  return real + owed_;
}

}  // namespace tempo::clock
