#include "protocol/clock/utc_sources.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "protocol/clock/rejection.h"

namespace tempo::clock {
namespace {

constexpr Nanos kStepTolerance = 100ms;  // on the step of a leap second
constexpr double kShortestSpan = 3;      // of the samples of a claim, in seconds
constexpr double kSlopeDoubt = 4;        // of a slope, in scatters per span
constexpr double kLeastGrowth = 1e-6;    // of every claim
constexpr double kUseless = 1000;        // in seconds; a larger bound says nothing
constexpr double kLeastWeighed = 1e-9;   // smaller bounds do not increase the weight

double seconds_between(Instant from, Instant to) { return in_seconds(to - from); }

}  // namespace

UtcSources::UtcSources(std::span<const Source> sources) {
  CHECK(sources.size() <= kMaxSources);
  for (const Source& source : sources) sources_.push_back({.rules = source});
}

void UtcSources::add(std::size_t source, const Sample& sample) {
  Known& known = sources_[source];
  if (!known.points.empty()) {
    if (sample.at <= known.last.at) return;
    // A source that was silent for long begins again: its rate may have changed.
    if (sample.at - known.last.at > kLifetime) known.points.clear();
    const Nanos stepped = (sample.utc - known.last.utc) - (sample.at - known.last.at);
    const auto near = [&](Nanos step) { return std::chrono::abs(stepped - step) < kStepTolerance; };
    if (known.last.leap == Leap::insert && near(-1s)) ++known.leaps;
    if (known.last.leap == Leap::remove && near(1s)) --known.leaps;
  }
  known.last = sample;
  const Nanos smooth = known.smear.utc(sample.at, sample.utc, known.leaps);
  if (known.points.size() == kSamples) known.points.erase(known.points.begin());
  known.points.push_back(
      {.at = sample.at, .ahead = smooth - sample.at.time_since_epoch(), .error = sample.error});
}

std::optional<UtcSources::Claim> UtcSources::claim_of(std::size_t index, const Known& source,
                                                      Instant now, Nanos base) {
  const auto& points = source.points;
  if (points.size() < kSamples || now - points.back().at > kLifetime) return std::nullopt;
  const double span = seconds_between(points.front().at, points.back().at);
  if (span < kShortestSpan) return std::nullopt;
  const auto ahead = [&](const Point& point) { return in_seconds(point.ahead - base); };
  const auto n = static_cast<double>(points.size());
  double st = 0, sa = 0, stt = 0, sta = 0;
  for (const Point& point : points) {
    const double t = seconds_between(now, point.at);
    st += t;
    sa += ahead(point);
    stt += t * t;
    sta += t * ahead(point);
  }
  const double slope = std::clamp((n * sta - st * sa) / (n * stt - st * st), -kMaxRate, kMaxRate);
  std::vector<double> present;  // each sample, carried to the present
  for (const Point& point : points)
    present.push_back(ahead(point) + slope * seconds_between(point.at, now));
  std::ranges::sort(present);
  const double middle = (present[kSamples / 2 - 1] + present[kSamples / 2]) / 2;
  const double scatter = std::max(present.back() - middle, middle - present.front());
  const double growth = std::min(2 * kMaxRate, kSlopeDoubt * scatter / span + kLeastGrowth);
  const double error =
      std::ranges::max_element(points, {}, &Point::error)->error + source.rules.error;
  // The line is known best in the middle of the samples.
  return Claim{.source = index, .middle = middle, .bound = error + scatter + growth * (-st / n)};
}

// Of n claims, f = (n - 1) / 2 may be wrong: the truth is where at least n - f of them overlap.
std::optional<UtcSources::Agreement> UtcSources::agreement_of(std::span<const Claim> claims) {
  std::vector<Interval> intervals;
  for (const Claim& claim : claims) intervals.push_back(claim.interval());
  const ConsistentGroup group = largest_consistent(intervals);
  if (group.members.size() * 2 <= claims.size()) return std::nullopt;
  const std::size_t needed = claims.size() - (claims.size() - 1) / 2;
  const auto covered = [&](double point) {
    return static_cast<std::size_t>(std::ranges::count_if(intervals, [&](const Interval& one) {
             return one.low <= point && point <= one.high;
           })) >= needed;
  };
  Agreement agreed{.value = 0, .possible = group.overlap, .overlap = group.overlap};
  for (const Interval& interval : intervals) {
    if (covered(interval.low)) agreed.possible.low = std::min(agreed.possible.low, interval.low);
    if (covered(interval.high))
      agreed.possible.high = std::max(agreed.possible.high, interval.high);
  }
  double sum = 0;
  double weights = 0;
  for (const std::size_t i : group.members) {
    const double bound = std::max(claims[i].bound, kLeastWeighed);
    sum += claims[i].middle / (bound * bound);
    weights += 1 / (bound * bound);
  }
  agreed.value = std::clamp(sum / weights, group.overlap.low, group.overlap.high);
  return agreed;
}

std::optional<UtcSources::Reading> UtcSources::read(Instant now) {
  Nanos base{0};
  for (const Known& source : sources_)
    if (!source.points.empty()) base = source.points.back().ahead;
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    sources_[i].state = State::silent;
    sources_[i].deviation = 0;
    if (const auto claim = claim_of(i, sources_[i], now, base)) {
      claims.push_back(*claim);
      sources_[i].state = State::outvoted;
    }
  }
  if (claims.empty()) return std::nullopt;
  std::optional<Agreement> agreed = agreement_of(claims);
  if (!agreed) {
    const auto priority = [&](const Claim& claim) { return sources_[claim.source].rules.priority; };
    const auto highest = priority(*std::ranges::max_element(claims, {}, priority));
    std::vector<Claim> preferred;
    std::ranges::copy_if(claims, std::back_inserter(preferred),
                         [&](const Claim& claim) { return priority(claim) == highest; });
    agreed = agreement_of(preferred);
  }
  if (!agreed) return std::nullopt;
  for (const Claim& claim : claims) {
    const Interval interval = claim.interval();
    const bool agrees =
        interval.low <= agreed->overlap.high && interval.high >= agreed->overlap.low;
    sources_[claim.source].state = agrees ? State::used : State::outvoted;
    sources_[claim.source].deviation = claim.middle - agreed->value;
  }
  const double bound =
      std::max(agreed->possible.high - agreed->value, agreed->value - agreed->possible.low);
  if (bound > kUseless) return std::nullopt;
  return Reading{.utc = now.time_since_epoch() + base + Nanos{std::llround(agreed->value * 1e9)},
                 .bound = Nanos{std::llround(std::ceil(bound * 1e9)) + 1}};
}

}  // namespace tempo::clock
