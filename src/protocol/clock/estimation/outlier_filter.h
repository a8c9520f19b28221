// Outlier filter: holds impossible samples back until several agree.
//
// Delays have a floor. A residual well below it means a false timestamp, a jump of a clock, or a
// shorter path, and a single sample does not tell which. The filter holds it back; when kAgree
// samples agree, they are accepted:
//
//     one direction fell, the other rose as much    the local clock jumped: all history moves too
//     one direction fell that had a correction      the old path is back: the correction ends
//     one direction fell, the other did not move    a shorter path, which is taken as symmetric
//
// Held samples that do not agree with others expire.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/clock/estimation/delay_stats.h"
#include "protocol/clock/estimation/line.h"
#include "protocol/clock/estimation/sample.h"

namespace tempo::clock {

// The common explanation of the held samples.
struct Verdict {
  enum class What : std::uint8_t { clock_jumped, old_path, shorter_path };
  What what;
  Direction direction;  // the direction whose delay fell
  double by;            // change of theta, or decrease of the delay in that direction, in seconds
  double other_by;      // decrease of the delay in the other direction, in seconds; usually 0
};

class OutlierFilter {
 public:
  static constexpr std::size_t kAgree = 4;     // samples that must agree
  static constexpr std::uint64_t kMaxAge = 8;  // exchanges until a held sample expires

  // Returns true if the sample is an outlier.
  static bool suspects(const Sample& corrected, const Line& theta, double sigma,
                       const DelayStats& delay_stats);
  // Holds the sample back and returns true if it is an outlier.
  bool hold(const Sample& corrected, const Sample& raw, const Line& theta, double sigma,
            const DelayStats& delay_stats);
  // The common explanation of the held samples; empty: too few agree. `correction` is the path
  // correction of each direction.
  std::optional<Verdict> verdict(const std::array<double, 2>& correction,
                                 const DelayStats& delay_stats) const;

  bool disturbed() const { return !held_.empty(); }
  struct Held {
    Sample raw;                                // without path correction
    std::array<double, 2> residuals{};         // of each direction, in seconds
    Direction direction = Direction::forward;  // the direction that is farther below its floor
    std::uint64_t exchange = 0;                // number of the exchange
  };
  const std::vector<Held>& held() const { return held_; }
  // Removes the held samples of this direction and returns them.
  std::vector<Sample> release(Direction direction);

 private:
  std::vector<Held> held_;       // at most one per exchange of the last kMaxAge
  std::uint64_t exchanges_ = 0;  // exchanges seen
};

}  // namespace tempo::clock
