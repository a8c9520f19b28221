// UTC of one machine, from several sources that may be wrong: GPS receivers, NTP servers.
//
// A source gives samples: UTC at an instant of raw time. When it has given kSamples of them, it
// claims an interval: the median of the last ones, carried to the present along their fitted line,
// and around it its configured error, their scatter and the doubt about the slope of the line. (Of
// Gaussian samples without any configured error, 4 in 10,000 claims miss the truth.) The true time
// lies where most claims overlap, as long as most sources are right (Marzullo, as in rejection.h);
// the reading is their mean there, and its bound contains every point that most claims share. A
// source whose claim misses the overlap is outvoted. Without a majority the sources of the highest
// priority decide alone.
//
// A leap second that a source announces is not a step: it is spread as that of a trusted machine
// (utc.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/units.h"
#include "protocol/clock/interval.h"
#include "protocol/clock/utc.h"

namespace tempo::clock {

class UtcSources {
 public:
  static constexpr std::size_t kMaxSources = 8;  // sources
  static constexpr std::size_t kSamples = 8;     // of a source, that its claim rests on
  static constexpr Nanos kLifetime = 64s;        // of a sample
  static constexpr double kMaxRate = 200e-6;     // of UTC over a raw clock

  struct Source {
    double error = 0;           // of its samples, in seconds
    std::uint8_t priority = 0;  // 0 to 9; higher decides without a majority
  };
  enum class Leap : std::uint8_t { none, insert, remove };
  struct Sample {
    Instant at{};            // raw time
    Nanos utc{0};            // UTC then, since 1970
    Leap leap = Leap::none;  // at the end of this day
    double error = 0;        // in seconds, beyond that of the source
  };
  enum class State : std::uint8_t { silent, used, outvoted };
  struct Reading {
    Nanos utc{0};
    Nanos bound{0};
  };

  explicit UtcSources(std::span<const Source> sources);

  // Samples of a source come in the order of time; an older one is ignored.
  void add(std::size_t source, const Sample& sample);

  // UTC at `now`. Empty: no source, or none that the others or its priority confirm.
  std::optional<Reading> read(Instant now);

  // As of the last `read`.
  State state(std::size_t source) const { return sources_[source].state; }
  // Its reading minus the one that was agreed on, in seconds; 0: one of them is missing.
  double deviation(std::size_t source) const { return sources_[source].deviation; }

 private:
  struct Point {
    Instant at{};
    Nanos ahead{0};  // UTC minus raw time, without steps of leap seconds
    double error = 0;
  };
  struct Known {
    Source rules;
    std::vector<Point> points{};  // at most kSamples, the oldest first
    LeapSmear smear{};
    Sample last{};  // the newest
    int leaps = 0;  // leap seconds since the start
    State state = State::silent;
    double deviation = 0;
  };
  // A claim: UTC minus (raw time + base), in seconds.
  struct Claim {
    std::size_t source = 0;
    double middle = 0;
    double bound = 0;
    Interval interval() const { return {.low = middle - bound, .high = middle + bound}; }
  };
  struct Agreement {
    double value = 0;
    Interval possible;  // where the truth can be
    Interval overlap;   // of the largest group
  };
  static std::optional<Claim> claim_of(std::size_t index, const Known& source, Instant now,
                                       Nanos base);
  static std::optional<Agreement> agreement_of(std::span<const Claim> claims);

  std::vector<Known> sources_;
};

}  // namespace tempo::clock
