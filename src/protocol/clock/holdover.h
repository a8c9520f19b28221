// What a clock knows of network time when its reference is gone: a line over raw time, and how
// doubtful it has become.
//
// A line that was fitted over some span is as good as its fit within a fraction of that span; then
// the error of its rate tells, then the wander of the oscillator. When there is a new reference of
// which little is known yet, the line goes on to count, less and less.
#pragma once

#include <cmath>

#include "base/units.h"
#include "protocol/clock/steered_clock.h"

namespace tempo::clock {

// The standard error of a line `age` seconds after its last sample.
inline double grown(double sigma, double age, double span) {
  const double spans = age > 0 ? age / span : 0;
  return sigma * (1 + 2 * spans + spans * std::sqrt(spans));
}

struct Holdover {
  SteeredClock line{};  // network time
  Instant since{};      // when it was last known
  double sigma = 0;     // standard error then, in seconds
  double span = 1;      // of the fit, in seconds
  Nanos bound{0};       // of the error, then

  double doubt(Instant now) const { return grown(sigma, in_seconds(now - since), span); }
};

// How much a fresh estimate counts beside what is held: the inverse squares of their errors.
inline double share_of_fresh(double held, double fresh) {
  const double sum = held * held + fresh * fresh;
  return sum > 0 ? held * held / sum : 1;
}

}  // namespace tempo::clock
