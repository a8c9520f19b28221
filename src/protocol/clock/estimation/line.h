// A line over local time that describes theta, the offset: the local clock minus the reference.
// Times are seconds of local raw time since the first exchange; values are seconds.
#pragma once

namespace tempo::clock {

struct Line {
  double value = 0;   // at `origin`
  double rate = 0;    // seconds per second
  double origin = 0;  // time of the smallest error: the middle of the newest exchange

  double at(double t) const { return value + rate * (t - origin); }
};

}  // namespace tempo::clock
