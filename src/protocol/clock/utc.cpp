#include "protocol/clock/utc.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "protocol/clock/rejection.h"

namespace tempo::clock {
namespace {

constexpr Nanos kLeapDoubt = 100ms;  // of a step that is a leap second: a slew goes on meanwhile
constexpr double kNarrowest = 1e-9;  // bounds below it weigh no more
constexpr double kLearning = 0.25;   // of the bend: more overshoots, less takes long

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
  return std::clamp(rate, -UtcFollower::kMaxRate, UtcFollower::kMaxRate);
}

}  // namespace

// Near the mark, gap and trim follow (s + 1/2P)^2 = 0: the fastest way without overshoot. Farther
// off, half of the bend is kept for braking: v^2 = kMaxBend * gap; there the trim learns slowly,
// and not at all while the rate bends as fast as it may.
double UtcFollower::round(double elapsed, std::span<const UtcClaim> claims) {
  gap_ = agreed(claims);
  const double gap = gap_.value_or(0);
  const double closing = std::min(std::abs(gap) / kPeriod, std::sqrt(kMaxBend * std::abs(gap)));
  const double wanted = limited(trim_ + std::copysign(closing, gap));
  const double most = kMaxBend * elapsed;
  const double bend = std::clamp(wanted - rate_, -most, most);
  rate_ += bend;
  if (std::abs(bend) < most)
    trim_ = limited(trim_ + std::clamp(gap * elapsed / (4 * kPeriod * kPeriod), -most * kLearning,
                                       most * kLearning));
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
