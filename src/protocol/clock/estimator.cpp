#include "protocol/clock/estimator.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/check.h"

namespace tempo::clock {
namespace {

constexpr std::size_t kWindow = 64;
constexpr std::size_t kOldest = 16;        // the part of a full window that the rate starts from
constexpr double kMostRate = 200e-6;       // of any clock worth using, and of its ageing here
constexpr Nanos kMost = Nanos::max() / 4;  // stamps beyond this are nobody's time

Nanos out(const Exchange& e) { return e.received.time_since_epoch() - e.asked.time_since_epoch(); }
Nanos back(const Exchange& e) { return e.heard.time_since_epoch() - e.answered.time_since_epoch(); }
Nanos round_trip(const Exchange& e) { return out(e) + back(e); }
Nanos middle(const Exchange& e) { return back(e) - round_trip(e) / 2; }

Nanos times(Nanos span, double rate) {
  return Nanos{std::llround(static_cast<double>(span.count()) * rate)};
}

bool sane(Nanos reading) { return reading > -kMost && reading < kMost; }

template <class Iterator>
const Exchange& shortest(Iterator first, Iterator last) {
  return *std::min_element(first, last, [](const Exchange& a, const Exchange& b) {
    return round_trip(a) < round_trip(b);
  });
}

}  // namespace

bool Estimator::add(const Exchange& e) {
  if (!sane(e.asked.time_since_epoch()) || !sane(e.heard.time_since_epoch()) ||
      !sane(e.received.time_since_epoch()) || !sane(e.answered.time_since_epoch()))
    return false;
  if (e.heard < e.asked || e.answered < e.received || round_trip(e) < 0ns) return false;
  recent_.push_back(e);
  if (recent_.size() > kWindow) recent_.pop_front();
  ++count_;
  if (recent_.size() < 2 * kOldest) return true;
  const Exchange& old = shortest(recent_.begin(), recent_.begin() + kOldest);
  const Exchange& young = shortest(recent_.end() - kOldest, recent_.end());
  const Nanos span = young.asked - old.asked;
  if (span <= 0ns) return true;
  rate_ = std::clamp(static_cast<double>((middle(young) - middle(old)).count()) /
                         static_cast<double>(span.count()),
                     -kMostRate, kMostRate);
  return true;
}

Estimate Estimator::at(Instant now) const {
  CHECK(ready());
  const auto newest = recent_.size() > kOldest ? recent_.end() - kOldest : recent_.begin();
  const Exchange& best = shortest(newest, recent_.end());
  Estimate estimate{
      .theta = middle(best) + times(now - best.asked - (best.heard - best.asked) / 2, rate_),
      .rate = rate_,
      .sigma = round_trip(best) / 4,
      .earliest = -kMost,
      .latest = kMost};
  for (const Exchange& e : recent_) {
    estimate.latest =
        std::min(estimate.latest, back(e) + times(std::chrono::abs(now - e.heard), kMostRate));
    estimate.earliest =
        std::max(estimate.earliest, -out(e) - times(std::chrono::abs(now - e.asked), kMostRate));
  }
  if (estimate.earliest > estimate.latest) {
    // The clock was stepped inside the window: only the newest exchange says where it is now.
    const Exchange& last = recent_.back();
    estimate.disturbed = true;
    estimate.earliest = -out(last) - times(std::chrono::abs(now - last.asked), kMostRate);
    estimate.latest = back(last) + times(std::chrono::abs(now - last.heard), kMostRate);
  }
  estimate.theta = std::clamp(estimate.theta, estimate.earliest, estimate.latest);
  return estimate;
}

}  // namespace tempo::clock
