// Holdover: network time without a reference, as a line over raw time whose error grows.
//
// Within a fraction of the span that the line was fitted over, its error is that of the fit; later
// the error of its rate (skew) dominates, then the wander of the oscillator. While a new reference
// has few samples, the line still counts, with decreasing weight.
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
  Instant since{};      // raw time of the last sample
  double sigma = 0;     // standard error at `since`, in seconds
  double span = 1;      // span of the fit, in seconds
  Nanos bound{0};       // error bound at `since`
  double drift = 0;     // growth of the bound, in seconds per second

  // Standard error at `now`, in seconds.
  double doubt(Instant now) const { return grown(sigma, in_seconds(now - since), span); }
  // Error bound at `now`.
  Nanos bound_at(Instant now) const {
    return bound + Nanos{std::llround(drift * static_cast<double>((now - since).count()))};
  }
};

// Weight of a new estimate against the held line, by the inverse squares of their standard errors.
inline double share_of_fresh(double held, double fresh) {
  const double sum = held * held + fresh * fresh;
  return sum > 0 ? held * held / sum : 1;
}

}  // namespace tempo::clock
