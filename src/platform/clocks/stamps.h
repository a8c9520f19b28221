// From CLOCK_REALTIME to CLOCK_MONOTONIC_RAW: the arithmetic, without a clock.
//
// Kernel stamps are CLOCK_REALTIME, which is stepped and slewed; the local timescale is raw. A
// Bracket is one reading of the first between two of the second; a stamp taken shortly before is
// carried over by it. Stamps that cannot be trusted are refused: older than 100 ms, later than the
// reading itself, or taken before a step of the clock that the reading already shows.
#pragma once

#include <optional>
#include <span>

#include <time.h>

#include "base/units.h"

namespace tempo::sys {

struct Bracket {
  Instant before;   // raw
  Nanos real{};     // since 1970
  Instant after{};  // raw

  Nanos width() const { return after - before; }
  Instant raw() const { return before + width() / 2; }
  Nanos ahead() const { return real - raw().time_since_epoch(); }  // of raw
};

constexpr Nanos nanos_of(const timespec& time) {
  return std::chrono::seconds{time.tv_sec} + Nanos{time.tv_nsec};
}
constexpr timespec timespec_of(Nanos span) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(span);
  return {.tv_sec = seconds.count(), .tv_nsec = (span - seconds).count()};
}

const Bracket& narrowest(std::span<const Bracket> brackets);  // the first of equals; not empty

class StampConverter {
 public:
  static constexpr Nanos kOldest = 100ms;
  static constexpr Nanos kStep = 1ms;         // a change between two brackets that no slew explains
  static constexpr double kMaxSlew = 1e-3;    // 500 ppm of frequency and as much of adjtime()
  static constexpr Nanos kWidest = 1ms;       // of a bracket that is of use
  static constexpr Nanos kSlopeFrom = 100ms;  // of brackets that give a slope: apart by this much
  static constexpr Nanos kSlopeTo = 10s;      // and by no more than this

  // The raw instant of a stamp, by a bracket that was read after it. Brackets come in the order of
  // their reading.
  std::optional<Instant> convert(const Bracket& bracket, Nanos stamp);

 private:
  void notice(const Bracket& bracket);

  std::optional<Bracket> last_;
  std::optional<Bracket> anchor_;          // where the slope is measured from; none before a step
  double slope_ = 0;                       // how much faster than raw the clock runs
  Instant trusted_from_ = Instant::min();  // earlier ones may be from before a step
};

}  // namespace tempo::sys
