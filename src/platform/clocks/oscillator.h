// The local timescale: the clock that is never steered.
//
// The real one is CLOCK_MONOTONIC_RAW. The drifting one is made from it for demonstrations, tests
// and unprivileged use: with an offset, a rate and a wander of its own, so that several daemons on
// one machine have as many clocks. Kernel stamps are CLOCK_REALTIME; they are carried over by a
// bracketed reading RAW, REALTIME, RAW, the narrowest of three, and dropped when older than 100 ms
// or taken before a step of the kernel's clock. All of them stand still while the machine sleeps.
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

// How long something lasted: not less, not more.
struct Lasted {
  Nanos least{0};
  Nanos most{0};
};

class Oscillator {
 public:
  virtual ~Oscillator() = default;
  virtual Instant now() = 0;
  // What this timescale showed when CLOCK_MONOTONIC_RAW showed `raw`.
  virtual Instant at(Instant raw) = 0;
  // The sleep of this machine since it started, which this timescale knows nothing of.
  virtual Lasted asleep();

  // The instant of a kernel stamp, or nothing if it cannot be trusted.
  std::optional<Instant> from_realtime(const timespec& stamp);

 private:
  StampConverter converter_;
};

struct DriftOptions {
  Nanos offset{0};    // of the wall clock that goes with it, no_clock(offset); not of the instants
  double rate = 0;    // 50e-6: gains 50 microseconds a second
  double wander = 0;  // random walk of the rate, per square root of a second
  std::uint64_t seed = 0;
};

// What a drifting oscillator shows at a raw instant. The same for the same start and options,
// whenever it is asked; instants more than a second or so before the latest are carried back by the
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
    std::int64_t index;  // begins so many segments after the start
    double deviation;    // of what is shown from raw at its beginning, in nanoseconds
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
