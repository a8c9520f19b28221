// The local timescale, which is never steered.
//
// The real oscillator is CLOCK_MONOTONIC_RAW. The drifting one is derived from it for
// demonstrations, tests and unprivileged use, with its own offset, rate and wander, so that several
// daemons on one machine have different clocks. Kernel timestamps are CLOCK_REALTIME; a bracketed
// reading RAW, REALTIME, RAW, the narrowest of three, converts them. Timestamps older than 100 ms
// or from before a step of the kernel clock are dropped. All oscillators stand still while the
// machine is suspended.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include <time.h>

#include "base/random.h"
#include "base/units.h"
#include "platform/clocks/stamps.h"

namespace tempo::sys {

// Bounds of a duration.
struct Lasted {
  Nanos least{0};
  Nanos most{0};
};

class Oscillator {
 public:
  virtual ~Oscillator() = default;
  virtual Instant now() = 0;
  // Time of this timescale when CLOCK_MONOTONIC_RAW showed `raw`.
  virtual Instant at(Instant raw) = 0;
  // Total suspension of the machine since boot, which this timescale does not include.
  virtual Lasted asleep();

  // Instant of a kernel timestamp; nothing: it cannot be trusted.
  std::optional<Instant> from_realtime(const timespec& stamp);

 private:
  StampConverter converter_;
};

struct DriftOptions {
  Nanos offset{0};    // of the matching wall clock, no_clock(offset); instants are not shifted
  double rate = 0;    // 50e-6: gains 50 microseconds per second
  double wander = 0;  // random walk of the rate, per square root of a second
  std::uint64_t seed = 0;
};

// Time of a drifting oscillator at a raw instant. The result depends only on start and options, not
// on earlier calls. Instants more than about a second before the latest are extrapolated with the
// oldest rate that is remembered.
class Drift {
 public:
  Drift(Instant start, const DriftOptions& options);
  Instant at(Instant raw);

 private:
  static constexpr Nanos kSegment = 125ms;
  static constexpr std::size_t kRemembered = 16;        // segments: two seconds
  static constexpr std::int64_t kLongestWalk = 10'000;  // segments, twenty minutes

  struct Segment {
    std::int64_t index;  // number of segments after the start
    double deviation;    // deviation from raw time at its beginning, in nanoseconds
    double rate;
  };
  void extend(std::int64_t wanted);

  Instant start_;
  double wander_;  // per segment
  Stream chance_;
  std::deque<Segment> segments_;  // never empty
};

Instant raw_now();       // CLOCK_MONOTONIC_RAW
Bracket read_bracket();  // the narrowest of three

std::unique_ptr<Oscillator> real_oscillator();
std::unique_ptr<Oscillator> drifting_oscillator(const DriftOptions& options);

}  // namespace tempo::sys
