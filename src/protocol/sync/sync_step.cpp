#include "protocol/sync/sync_step.h"

#include <array>

#include "protocol/sync/sync.h"

namespace tempo::node {

std::string_view name_of(Reading::Status status) {
  constexpr std::array<std::string_view, 6> kNames{"unsynchronized", "holdover", "synchronized",
                                                   "leads",          "minority", "alone"};
  return kNames.at(static_cast<std::size_t>(status));
}

Instant SyncStep::now() const { return turn.now; }

void SyncStep::steer(const clock::Steering& steering) {
  if (steering.step != Nanos{0}) {
    clock.steered.step(steering.step);
    turn.out.notify(Stepped{.by = steering.step});
  }
  clock.steered.set_rate(now(), steering.frequency);
  if (steering.settles > Nanos{0})
    timers.set(SyncTimer::settle, now() + steering.settles);
  else
    timers.stop(SyncTimer::settle);
  turn.out.notify(Steered{});
}

Instant SyncStep::stamp(Instant instant) const {
  if (rules.stamp_grain == Nanos{0}) return instant;
  return instant - instant.time_since_epoch() % rules.stamp_grain;
}

Instant SyncStep::arrival(Instant arrived) const {
  return stamp(arrived == Instant{} ? now() : std::min(arrived, now()));
}

}  // namespace tempo::node
