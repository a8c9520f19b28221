#include "protocol/clock/utc.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "protocol/clock/rejection.h"

namespace tempo::clock {
namespace {

constexpr Nanos kLeapTolerance = 100ms;  // on the step of a leap second: the clock may also slew
constexpr double kLeastBound = 1e-9;     // seconds; smaller bounds do not increase the weight
constexpr double kLearning = 0.25;  // share of the bend: more overshoots, less converges slowly

// The mean gap of the largest consistent group, weighted by the inverse squares of the bounds and
// limited to the intersection of its claims; empty if the group is no majority.
std::optional<double> agreed(std::span<const UtcClaim> claims) {
  std::vector<Interval> intervals;
  for (const UtcClaim& claim : claims)
    intervals.push_back({.low = claim.gap - claim.bound, .high = claim.gap + claim.bound});
  const ConsistentGroup group = largest_consistent(intervals);
  if (group.members.size() * 2 <= claims.size()) return std::nullopt;
  double sum = 0;
  double weights = 0;
  for (const std::size_t i : group.members) {
    const double bound = std::max(claims[i].bound, kLeastBound);
    sum += claims[i].gap / (bound * bound);
    weights += 1 / (bound * bound);
  }
  return std::clamp(sum / weights, group.overlap.low, group.overlap.high);
}

double limited(double rate) {
  return std::clamp(rate, -UtcFollower::kMaxRate, UtcFollower::kMaxRate);
}

}  // namespace

// For a small gap, gap and trim follow (s + 1/2P)^2 = 0: critical damping, the fastest correction
// without overshoot. For a larger gap half of the bend is reserved for braking: v^2 = kMaxBend *
// gap. There the trim adapts slowly, and not at all while the rate bends as fast as allowed.
double UtcFollower::round(double elapsed, std::span<const UtcClaim> claims) {
  gap_ = agreed(claims);
  const double gap = gap_.value_or(0);
  const double closing = std::min(std::abs(gap) / kPeriod, std::sqrt(kMaxBend * std::abs(gap)));
  const double wanted = limited(trim_ + std::copysign(closing, gap));
  const double max_bend = kMaxBend * elapsed;
  const double bend = std::clamp(wanted - rate_, -max_bend, max_bend);
  rate_ += bend;
  if (std::abs(bend) < max_bend)
    trim_ = limited(trim_ + std::clamp(gap * elapsed / (4 * kPeriod * kPeriod),
                                       -max_bend * kLearning, max_bend * kLearning));
  return rate_;
}

Nanos LeapSmear::utc(Instant raw, Nanos real, int tai) {
  if (last_) {
    const Nanos passed = raw - last_->raw;
    const int leap = tai - last_->tai;
    const Nanos stepped = real - last_->real - passed;
    if (std::abs(leap) == 1 && std::chrono::abs(stepped + leap * 1s) < kLeapTolerance)
      remaining_ += leap * 1s;
    const Nanos back{std::llround(static_cast<double>(passed.count()) * kSmearRate)};
    remaining_ = remaining_ > 0ns ? std::max(remaining_ - back, Nanos{0})
                                  : std::min(remaining_ + back, Nanos{0});
  }
  last_ = {.raw = raw, .real = real, .tai = tai};
  return real + remaining_;
}

}  // namespace tempo::clock
