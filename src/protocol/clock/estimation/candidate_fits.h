// Candidate fits: fits the lines of all windows in one pass over the slots, and stores their past
// values.
//
// The pass goes from the newest slot to the oldest and extends the convex hulls and the sums for
// least squares; when it reaches the length of a window, it computes the two lines of that window.
// The value of every candidate at the time of every slot is stored, because Scores compares it with
// later samples.
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
  double margin = 0;     // of an envelope, in seconds
  bool present = false;  // its window is full and has enough slots that count
  bool bent = false;     // its window lies over a change of the clock's rate

  bool usable() const { return present && !bent; }
};

class CandidateFits {
 public:
  // Fits every full window. `opened`: the newest slot is new since the last call.
  void fit(const Slots& slots, bool opened);
  const PerCandidate<Candidate>& candidates() const { return candidates_; }

  // Windows from this one on lie over a bend: their lines do not count, nor are they stored.
  void reject(std::size_t from);

  // A candidate's theta at the slot `age` slots ago, computed when that slot was the newest; empty:
  // there was no candidate.
  std::optional<double> past_value(Kind kind, std::size_t window, std::size_t age) const;

  // Adds `by` to the stored values of the newest `count` slots.
  void shift(double by, std::size_t count);
  // Discards the stored values of the newest `count` slots, because they were wrong.
  void forget(std::size_t count);

  static constexpr std::size_t most_bytes() {
    return kCapacity * sizeof(Values) + 2 * kWindows.back() * sizeof(Reading);
  }

 private:
  using Values = PerCandidate<double>;  // NaN: no candidate
  static constexpr std::size_t kCapacity = 1536;

  PerCandidate<Candidate> candidates_;
  std::vector<Values> history_;  // one entry per slot
  Hull out_{kWindows.back()};
  Hull back_{kWindows.back()};
};

// The envelope of all slots, for the time before the first window is full. The rate is limited to
// the frequency error of any usable clock; with a single slot it is `rate`.
Envelope first_envelope(const Slots& slots, double rate);

}  // namespace tempo::clock
