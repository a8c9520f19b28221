// A closed interval that contains an unknown value, in seconds.
#pragma once

namespace tempo::clock {

struct Interval {
  double low = 0;
  double high = 0;
};

}  // namespace tempo::clock
