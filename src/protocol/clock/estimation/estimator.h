// Estimator: offset and frequency of the local clock against a reference, from exchanges of
// timestamps.
//
// theta(t), the offset, is local raw time minus reference time. The estimator describes it by a
// line, with a standard error, which is an estimate, and a bound, which is guaranteed if no delay
// is negative and the local clock does not change its frequency faster than stated.
//
// No parameter depends on the network. Samples are merged into slots of one second (slots.h).
// Thirty lines are fitted to the newest 8 to 1024 slots (candidate_fits.h), scored by comparison
// with later samples (scores.h) and averaged (combination.h). A filter holds outliers back
// (outlier_filter.h), and a detector finds changes of the path when a slot is closed
// (path_change_detector.h). See doc/internals/clock.md.
#pragma once

#include <array>
#include <cstddef>

#include "base/units.h"
#include "protocol/clock/estimation/bend_detector.h"
#include "protocol/clock/estimation/candidate_fits.h"
#include "protocol/clock/estimation/combination.h"
#include "protocol/clock/estimation/delay_stats.h"
#include "protocol/clock/estimation/outlier_filter.h"
#include "protocol/clock/estimation/path_change_detector.h"
#include "protocol/clock/estimation/sample.h"
#include "protocol/clock/estimation/scores.h"
#include "protocol/clock/estimation/slots.h"
#include "protocol/clock/exchange.h"

namespace tempo::clock {

struct Estimate {
  Nanos theta{0};          // offset: local minus reference, at the given instant
  double rate = 0;         // of theta: positive if the local clock is fast
  Nanos sigma{0};          // standard error of theta
  Nanos span{1s};          // span of the fit
  Nanos earliest{0};       // lower bound of theta
  Nanos latest{0};         // upper bound of theta
  bool disturbed = false;  // outliers are held back; the bound includes them
};

class Estimator {
 public:
  struct Options {
    // Drift allowance of a quiet clock, in seconds per second. 1e-6 where temperature shocks are
    // possible.
    double drift = 0.15e-6;
    // Resolution of the timestamps; it widens the bound on both sides.
    Nanos resolution{0};
  };

  // `rate`: the local clock's rate, known from before a restart or from an earlier reference.
  explicit Estimator(double rate = 0) : Estimator(rate, Options{}) {}
  Estimator(double rate, const Options& options) : options_(options) { now_.theta.rate = rate; }

  // Adds an exchange. Returns false if it is impossible or belongs to a slot that is closed; it is
  // dropped then.
  bool add(const Exchange& exchange);
  // Returns true if the exchange is possible but contradicts the clocks and paths as they were: it
  // is an outlier by the current line or by that of some seconds ago, or it is outside the bound.
  // Only when ready().
  bool suspects(const Exchange& exchange);
  // Whether the timestamps of the exchange can be those of any clocks and paths.
  bool possible(const Exchange& exchange) { return frame_.sample(exchange).has_value(); }
  bool ready() const { return !slots_.empty(); }
  std::size_t exchanges() const { return count_; }  // exchanges that were not dropped
  double rate() const { return now_.theta.rate; }

  // The estimate at this instant. Only when ready(). The bound holds from the newest exchange on.
  Estimate at(Instant now) const;

  // Theta changed by a known amount: the reference was stepped by `-by`. Both timestamps of the
  // reference in all later exchanges must show the new time.
  void shift(Nanos by) { frame_.shift(by); }

  // Memory of an estimator whose windows are all full, in bytes.
  static constexpr std::size_t most_bytes() {
    return sizeof(Estimator) + Slots::most_bytes() + CandidateFits::most_bytes();
  }

 private:
  Sample corrected(const Sample& raw) const;
  void insert(const Sample& raw);
  void close_slot();
  void apply(const Verdict& verdict);
  void refit(bool opened);

  Options options_;
  Frame frame_;
  Slots slots_;
  CandidateFits fits_;
  BendDetector bends_;
  Scores scores_;
  DelayStats delay_stats_;
  DelayStats earlier_stats_;  // the previous measurement of delay_stats_
  OutlierFilter outlier_filter_;
  PathChangeDetector path_;
  std::array<double, 2> correction_{};  // path correction of each direction, in seconds
  Combination now_;                     // the current line
  double drift_ = 0;                    // drift allowance of `now_`
  double span_ = 1;                     // span of the best window of `now_`, in seconds
  std::size_t count_ = 0;               // exchanges that were not dropped
  std::int64_t jumped_in_ = -1;         // slot of the last jump of a clock; -1: none
  std::int64_t changed_in_ = -1;  // slot of the last detected change of a clock or a path; -1: none
};

}  // namespace tempo::clock
