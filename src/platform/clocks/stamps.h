// Converts CLOCK_REALTIME to CLOCK_MONOTONIC_RAW: arithmetic only, no clock is read.
//
// Kernel timestamps are CLOCK_REALTIME, which is stepped and slewed; the local timescale is raw. A
// Bracket is one reading of the first between two of the second and converts a timestamp taken
// shortly before. Untrustworthy timestamps are refused: older than 100 ms, later than the reading
// itself, or taken before a step of the clock that the reading already includes.
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

const Bracket& narrowest(std::span<const Bracket> brackets);  // first of equals; must not be empty

class StampConverter {
 public:
  static constexpr Nanos kOldest = 100ms;
  static constexpr Nanos kStep = 1ms;  // a larger change between two brackets is a step, not a slew
  static constexpr double kMaxSlew = 1e-3;    // 500 ppm of frequency plus 500 ppm of adjtime()
  static constexpr Nanos kWidest = 1ms;       // widest usable bracket
  static constexpr Nanos kSlopeFrom = 100ms;  // shortest distance of two brackets that give a slope
  static constexpr Nanos kSlopeTo = 10s;      // longest distance of two brackets that give a slope

  // Raw instant of a timestamp, from a bracket that was read after it. Pass brackets in the order
  // of their reading.
  std::optional<Instant> convert(const Bracket& bracket, Nanos stamp);

 private:
  void notice(const Bracket& bracket);

  std::optional<Bracket> last_;
  std::optional<Bracket> anchor_;          // start of the slope measurement; unset after a step
  double slope_ = 0;                       // rate of the clock relative to raw time, minus 1
  Instant trusted_from_ = Instant::min();  // earlier timestamps may be from before a step
};

}  // namespace tempo::sys
