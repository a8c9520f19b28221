// The offset and the rate of the local clock against a reference, from exchanges of timestamps.
//
// theta(t) = local raw time minus reference time, as a line; with it a standard error that is an
// estimate, and a bound that is a promise: no delay is negative, and the local clock does not
// change its rate faster than stated.
//
// Nothing is tuned per network. Exchanges are merged into slots of a second (slots.h); thirty lines
// are fitted to the newest 8 to 1024 slots (bank.h), each is judged by what came later (scores.h),
// and the good ones are averaged (combination.h). Before a sample comes in the guard looks whether
// it can be (guard.h), and when a slot is full the path is watched (path.h). doc/internals/clock.md
// explains.
#pragma once

#include <array>
#include <cstddef>

#include "base/units.h"
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
  Nanos theta{0};          // local minus reference at the instant asked for
  double rate = 0;         // of theta: positive when the local clock is fast
  Nanos sigma{0};          // standard error of theta
  Nanos span{1s};          // over which the line was fitted
  Nanos earliest{0};       // theta is certainly not below this
  Nanos latest{0};         // nor above this
  bool disturbed = false;  // samples are held back; the bound includes them
};

class Estimator {
 public:
  struct Options {
    // How fast a clock may leave its line when all is quiet, in seconds per second. 1e-6 where
    // shocks of temperature are possible.
    double drift = 0.15e-6;
    // Of the stamps: it widens the bound on both sides.
    Nanos resolution{0};
  };

  // `rate`: what is known of the local clock's rate from an earlier life or reference.
  explicit Estimator(double rate = 0) : Estimator(rate, Options{}) {}
  Estimator(double rate, const Options& options) : options_(options) { now_.theta.rate = rate; }

  // False if the exchange is impossible, or asked earlier than a second already closed, and was
  // dropped.
  bool add(const Exchange& exchange);
  // Whether the exchange is possible, but not by clocks and paths as they were: it would be held
  // back, now or by the line as it was some seconds ago, or is outside the bound. Only when
  // ready().
  bool suspects(const Exchange& exchange);
  bool ready() const { return !slots_.empty(); }
  std::size_t exchanges() const { return count_; }  // that were not dropped
  double rate() const { return now_.theta.rate; }

  // Only when ready(). The bound holds for instants from the newest exchange on.
  Estimate at(Instant now) const;

  // Theta changed by a known amount: the reference was stepped by `-by`. Exchanges that come from
  // now on must have the new time in both of the reference's stamps.
  void shift(Nanos by) { frame_.shift(by); }

  // What one of these holds when all its windows are full.
  static constexpr std::size_t most_bytes() {
    return sizeof(Estimator) + Slots::most_bytes() + CandidateFits::most_bytes();
  }

 private:
  Sample corrected(const Sample& raw) const;
  void insert(const Sample& raw);
  void close_slot();
  void believe(const Verdict& verdict);
  void refit(bool opened);

  Options options_;
  Frame frame_;
  Slots slots_;
  CandidateFits fits_;
  Scores scores_;
  DelayStats delay_stats_;
  DelayStats usual_before_;  // as measured the time before
  OutlierFilter outlier_filter_;
  PathChangeDetector path_;
  std::array<double, 2> correction_{};  // how much longer than the shortest each way is believed
  Combination now_;
  double drift_ = 0;  // the allowance that goes with `now_`
  double span_ = 1;   // and the seconds its best window covers
  std::size_t count_ = 0;
  std::int64_t believed_ = -1;  // the slot in which a clock or a path was last found changed
};

}  // namespace tempo::clock
