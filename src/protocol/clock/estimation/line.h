// A straight line over local time: how theta, the local clock minus the reference, is described.
// Times are seconds of local raw time since the first exchange, values seconds.
#pragma once

namespace tempo::clock {

struct Line {
  double value = 0;   // at `origin`
  double rate = 0;    // seconds per second
  double origin = 0;  // where it is most trusted: the middle of the newest exchange

  double at(double t) const { return value + rate * (t - origin); }
};

}  // namespace tempo::clock
