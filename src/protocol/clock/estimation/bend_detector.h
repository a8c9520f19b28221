// Bend detector: finds the windows that lie over a change of the clock's rate.
//
// The true line of a clock that keeps its rate leaves at least the least delay as a margin to all
// readings, whatever the load. No line fits a bend as well: the margin of an envelope that lies
// over one falls below its usual value by a multiple of its mean deviation. Such a window and all
// longer ones do not count until the bend has left them. The usual values are still learnt then,
// slowly, so that this ends if margins have changed permanently.
#pragma once

#include <array>
#include <cstddef>

#include "protocol/clock/estimation/candidate_fits.h"
#include "protocol/clock/estimation/windows.h"

namespace tempo::clock {

class BendDetector {
 public:
  // Compares the margins of the envelopes with their usual values. `opened`: the newest slot is new
  // since the last call; the detector learns only then.
  void judge(const CandidateFits& fits, bool opened);
  // The first window that lies over a bend; kWindows.size(): none does.
  std::size_t first_bent() const { return run_ >= kConfirm ? first_bent_ : kWindows.size(); }
  // The delays of a path have changed, and so have the margins: learns them from the start.
  void forget() { *this = {}; }

 private:
  // A master that lies must not be followed before its members object.
  static constexpr std::size_t kConfirm = 3;

  struct MarginStats {
    double margin = 0;     // mean, in seconds
    double deviation = 0;  // mean absolute deviation
    double slots = 0;      // slots that it was learnt from
  };

  std::array<MarginStats, kWindows.size()> margins_{};
  std::size_t first_bent_ = kWindows.size();
  std::size_t run_ = 0;  // newest slots in a row in which some window seemed bent
};

}  // namespace tempo::clock
