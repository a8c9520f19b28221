#include "protocol/sync/exchanges.h"

#include <algorithm>
#include <utility>

namespace tempo::node {
namespace {

constexpr std::uint32_t kBurstsToRecheck = 64;  // bursts per comparison of first and last trip
constexpr std::uint32_t kToCompare = 2;         // exchanges of a burst for that comparison
constexpr Nanos kMaxAnswerWait = 250ms;         // for an echo before the next exchange of a burst

}  // namespace

void Exchanges::begin(SyncStep& step) {
  pending_ = {};
  cold_path_ = {};
  contacts_left_ = step.rules.first_burst;
  burst_left_ = 0;
  step.timers.set(SyncTimer::probe, step.now());
}

void Exchanges::end(SyncStep& step) {
  pending_ = {};
  contacts_left_ = burst_left_ = 0;
  step.timers.stop(SyncTimer::probe);
}

bool Exchanges::in_burst(Instant now) const {
  return contacts_left_ == 0 && burst_left_ > 0 && now < next_burst_;
}

std::uint32_t Exchanges::begin_burst(SyncStep& step, std::uint64_t measured) {
  if (contacts_left_ > 0) {
    --contacts_left_;
    burst_left_ = 0;
    next_burst_ =
        step.now() + (contacts_left_ > 0 ? step.rules.first_spacing : step.rules.interval);
    step.timers.set(SyncTimer::probe, next_burst_);
    return add(step, {.counts = true});
  }
  ++bursts_;
  first_trip_ = Nanos{0};
  const bool well_known = measured >= step.rules.rest_after;
  if (!well_known || !cold_path_.first_counts())
    burst_left_ = step.rules.burst;
  else
    burst_left_ = bursts_ % kBurstsToRecheck == 0 ? kToCompare : 1;
  next_burst_ = step.now() + step.rules.interval * (well_known ? burst_left_ : 1);
  return continue_burst(step, burst_left_ > 1);
}

// After the echo of the last exchange, or a timeout.
std::uint32_t Exchanges::continue_burst(SyncStep& step, bool first) {
  --burst_left_;
  const Instant timeout = step.now() + std::min(step.rules.interval / 4, kMaxAnswerWait);
  step.timers.set(SyncTimer::probe, burst_left_ > 0 ? std::min(next_burst_, timeout) : next_burst_);
  return add(step, {.counts = burst_left_ == 0 || cold_path_.first_counts(),
                    .first = first,
                    .last = !first && burst_left_ == 0});
}

std::uint32_t Exchanges::add(SyncStep& step, Pending pending) {
  if (++number_ == 0) number_ = 1;
  pending.number = number_;
  pending.asked = step.stamp(step.now());
  pending_[number_ % pending_.size()] = pending;
  return number_;
}

void Exchanges::hurry(SyncStep& step) {
  next_burst_ = step.now() + step.rules.first_spacing;
  step.timers.set(SyncTimer::probe, std::min(step.timers.at(SyncTimer::probe), next_burst_));
}

Exchanges::Pending* Exchanges::find(std::uint32_t number) {
  const auto found = std::ranges::find(pending_, number, &Pending::number);
  return number == 0 || found == pending_.end() ? nullptr : &*found;
}

Exchanges::Pending Exchanges::take(Pending& pending) {
  const Pending done = std::exchange(pending, Pending{});
  const Nanos trip = (done.heard - done.asked) - (done.sent - done.received);
  if (done.first)
    first_trip_ = trip;
  else if (done.last && first_trip_ != Nanos{0})
    cold_path_.compare(std::exchange(first_trip_, Nanos{0}), trip);
  return done;
}

}  // namespace tempo::node
