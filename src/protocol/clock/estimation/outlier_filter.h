// The guard against samples that cannot be.
//
// Delays have a floor. A residual well below it is a false stamp, a jump of a clock, or a shorter
// path, and one sample cannot say which. It is held back; when several agree they are believed:
//
//     one way fell, the other rose as much    the local clock jumped: all history moves with it
//     one way fell that had been corrected    the old path is back: the correction ends
//     one way fell, the other did not move    a shorter path: it is the one believed symmetric
//
// Held samples that find no company are forgotten.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "protocol/clock/estimation/delay_stats.h"
#include "protocol/clock/estimation/line.h"
#include "protocol/clock/estimation/sample.h"

namespace tempo::clock {

struct Verdict {
  enum class What : std::uint8_t { clock_jumped, old_path, shorter_path };
  What what;
  Direction way;    // that fell
  double by;        // how much theta jumped, or how much shorter the way is
  double other_by;  // how much shorter the other way is: usually 0
};

class OutlierFilter {
 public:
  static constexpr std::size_t kAgree = 4;
  static constexpr std::uint64_t kPatience = 8;  // exchanges

  // Whether the sample would be held back.
  static bool suspects(const Sample& corrected, const Line& theta, double sigma,
                       const DelayStats& delay_stats);
  // True if the sample is to be held back.
  bool hold(const Sample& corrected, const Sample& raw, const Line& theta, double sigma,
            const DelayStats& delay_stats);
  // Whether the samples held agree, and on what. `correction` is what is taken off each way.
  std::optional<Verdict> verdict(const std::array<double, 2>& correction,
                                 const DelayStats& delay_stats) const;

  bool disturbed() const { return !held_.empty(); }
  struct Held {
    Sample raw;
    std::array<double, 2> residuals{};
    Direction way = Direction::forward;
    std::uint64_t exchange = 0;
  };
  const std::vector<Held>& held() const { return held_; }
  // Hands over the samples of the way that was judged, and forgets them.
  std::vector<Sample> release(Direction way);

 private:
  std::vector<Held> held_;  // at most kPatience
  std::uint64_t exchanges_ = 0;
};

}  // namespace tempo::clock
