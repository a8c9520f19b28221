// From here to there, both ends included: where something certainly is, in seconds.
#pragma once

namespace tempo::clock {

struct Interval {
  double low = 0;
  double high = 0;
};

}  // namespace tempo::clock
