// The bank: all candidate lines from one walk over the slots, and what each said in the past.
//
// Going from the newest slot to the oldest, the hulls and the sums for least squares grow; when as
// many slots have been seen as a window has, its two lines are read off. The value of every
// candidate at the time of every slot is kept, because the future will judge it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "protocol/clock/estimation/envelope.h"
#include "protocol/clock/estimation/line.h"
#include "protocol/clock/estimation/slots.h"
#include "protocol/clock/estimation/windows.h"

namespace tempo::clock {

struct Candidate {
  Line theta;
  double margin = 0;     // of an envelope
  bool present = false;  // its window is full, and enough of it counts
};

class CandidateFits {
 public:
  // Fits every window that is full; `opened` says whether the newest slot is a new one.
  void fit(const Slots& slots, bool opened);
  const PerCandidate<Candidate>& candidates() const { return candidates_; }

  // What a candidate said of theta at the slot `age` slots ago, when that slot was the newest.
  std::optional<double> said(Kind kind, std::size_t window, std::size_t age) const;

  // Theta, as it was said, rises by `by` in the newest `count` slots.
  void shift(double by, std::size_t count);
  // What was said in the newest `count` slots was said in error.
  void forget(std::size_t count);

  static constexpr std::size_t most_bytes() {
    return kRoom * sizeof(Said) + 2 * kWindows.back() * sizeof(Reading);
  }

 private:
  using Said = PerCandidate<double>;  // NaN where there was no candidate
  static constexpr std::size_t kRoom = 1536;

  PerCandidate<Candidate> candidates_;
  std::vector<Said> history_;  // side by side with the slots
  Hull out_{kWindows.back()};
  Hull back_{kWindows.back()};
};

// The envelope of all slots there are, for the time before the first window is full. The rate is
// kept within what any clock does; with a single slot it is `rate`.
Envelope first_envelope(const Slots& slots, double rate);

}  // namespace tempo::clock
