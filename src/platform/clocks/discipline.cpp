#include "platform/clocks/discipline.h"

#include <sys/timex.h>

#include "platform/descriptor.h"

namespace tempo::sys {
namespace {

constexpr int kAttempts = 3;
constexpr Nanos kClose = 100us;  // a reading this narrow ends the attempts

Discipline discipline_of(const timex& state, Instant before, Instant after) {
  const bool fine = (state.status & STA_NANO) != 0;  // tv_usec holds nanoseconds
  const Nanos part = fine ? Nanos{state.time.tv_usec} : Nanos{state.time.tv_usec * 1000};
  return {.synchronized = (state.status & STA_UNSYNC) == 0,
          .raw = before + (after - before) / 2,
          .real = std::chrono::seconds{state.time.tv_sec} + part,
          .most_error = std::chrono::microseconds{state.maxerror} + (after - before) / 2,
          .tai = state.tai};
}

}  // namespace

Result<Discipline> read_discipline(KernelClock& kernel) {
  Discipline best;
  Nanos narrowest = Nanos::max();
  for (int i = 0; i < kAttempts && narrowest > kClose; ++i) {
    timex state{};
    const Instant before = kernel.read().before;
    if (const int error = kernel.adjust(state); error != 0)
      return failure("cannot read the system clock: clock_adjtime", error);
    const Instant after = kernel.read().after;
    if (after - before >= narrowest) continue;
    narrowest = after - before;
    best = discipline_of(state, before, after);
  }
  return best;
}

}  // namespace tempo::sys
