#include "platform/clocks/oscillator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <deque>

#include "base/check.h"
#include "base/random.h"

namespace tempo::sys {
namespace {

Nanos read(clockid_t clock) {
  timespec time{};
  CHECK(clock_gettime(clock, &time) == 0);
  return nanos_of(time);
}

class RealOscillator final : public Oscillator {
 public:
  Instant now() override { return raw_now(); }
  Instant at(Instant raw) override { return raw; }
};

}  // namespace

Instant raw_now() { return Instant{read(CLOCK_MONOTONIC_RAW)}; }

Bracket read_bracket() {
  std::array<Bracket, 3> brackets{};
  for (Bracket& bracket : brackets) {
    bracket.before = raw_now();
    bracket.real = read(CLOCK_REALTIME);
    bracket.after = raw_now();
  }
  return narrowest(brackets);
}

// The process may be preempted between the readings, so the result is an interval.
Lasted Oscillator::asleep() {
  const Nanos before = read(CLOCK_MONOTONIC);
  timespec since_boot{};
  // A simulator may lack CLOCK_BOOTTIME.
  if (clock_gettime(CLOCK_BOOTTIME, &since_boot) != 0) return {};
  const Nanos after = read(CLOCK_MONOTONIC);
  return {.least = nanos_of(since_boot) - after, .most = nanos_of(since_boot) - before};
}

std::optional<Instant> Oscillator::from_realtime(const timespec& stamp) {
  return converter_.convert(read_bracket(), nanos_of(stamp)).transform([this](Instant raw) {
    return at(raw);
  });
}

// The rate changes at fixed instants, every eighth of a second from the start, so that the result
// does not depend on the times of the calls.
Drift::Drift(Instant start, const DriftOptions& options)
    : start_(start),
      wander_(options.wander * std::sqrt(in_seconds(kSegment))),
      chance_(options.seed, 0, 0) {
  CHECK(options.rate > -0.5 && options.rate < 0.5);
  segments_.push_back({.index = 0, .deviation = 0, .rate = options.rate});
}

Instant Drift::at(Instant raw) {
  const std::int64_t index = (raw - start_) / kSegment;
  while (segments_.back().index < index) extend(index);
  const auto later = std::ranges::find_if(
      segments_, [&](const Segment& segment) { return segment.index > index; });
  // Instants before the first remembered segment use its rate.
  const Segment& segment = later == segments_.begin() ? segments_.front() : *std::prev(later);
  const auto inside = static_cast<double>((raw - start_ - segment.index * kSegment).count());
  return raw + Nanos{std::llround(segment.deviation + inside * segment.rate)};
}

void Drift::extend(std::int64_t wanted) {
  const Segment& last = segments_.back();
  // After a very long gap the rate makes all its steps at once, which bounds the loop.
  const std::int64_t gap = wanted - last.index;
  const std::int64_t steps = gap > kLongestWalk ? gap : 1;
  const double spread = wander_ * std::sqrt(static_cast<double>(steps));
  const double rate = last.rate + (wander_ == 0 ? 0 : chance_.normal(0, spread));
  segments_.push_back(
      {.index = last.index + steps,
       .deviation = last.deviation + static_cast<double>((steps * kSegment).count()) * last.rate,
       .rate = std::clamp(rate, -0.5, 0.5)});
  if (segments_.size() > kRemembered) segments_.pop_front();
}

namespace {

class DriftingOscillator final : public Oscillator {
 public:
  explicit DriftingOscillator(const DriftOptions& options) : drift_(raw_now(), options) {}
  Instant now() override { return drift_.at(raw_now()); }
  Instant at(Instant raw) override { return drift_.at(raw); }

 private:
  Drift drift_;
};

}  // namespace

std::unique_ptr<Oscillator> real_oscillator() { return std::make_unique<RealOscillator>(); }

std::unique_ptr<Oscillator> drifting_oscillator(const DriftOptions& options) {
  return std::make_unique<DriftingOscillator>(options);
}

}  // namespace tempo::sys
