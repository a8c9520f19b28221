// Envelope: the line with the widest margin to the readings of both directions.
//
// Each forward reading bounds theta from one side, each reverse reading from the other. The
// envelope is the line with the largest common margin d to both sets of readings; for exponential
// queueing delays it is the maximum-likelihood line. Only the lower convex hulls matter, and d is
// concave in the rate, so that one walk along both hulls finds it exactly.
//
// Readings are pushed from the newest to the oldest, so that one pass serves windows of every
// length.
#pragma once

#include <cstddef>
#include <vector>

#include "base/check.h"
#include "protocol/clock/estimation/line.h"
#include "protocol/clock/estimation/sample.h"

namespace tempo::clock {

// The lower convex hull of readings, built from the newest to the oldest.
class Hull {
 public:
  explicit Hull(std::size_t capacity) : points_(capacity) {}

  void clear() { size_ = 0; }
  // Adds a reading; at most `capacity` between two clears. A reading that is not older than the
  // last is ignored: it was delayed and bounds nothing.
  void push(const Reading& reading) {
    Reading* const points = points_.data();
    if (size_ > 0 && reading.t >= points[size_ - 1].t) return;
    while (size_ >= 2) {
      const Reading& last = points[size_ - 1];
      const Reading& before = points[size_ - 2];
      // The last point stays only if it is below the line from its predecessor to the new point.
      if ((last.t - before.t) * (reading.value - before.value) <
          (last.value - before.value) * (reading.t - before.t))
        break;
      --size_;
    }
    CHECK(size_ < points_.size());
    points[size_++] = reading;
  }

  std::size_t size() const { return size_; }
  const Reading& operator[](std::size_t i) const { return points_[i]; }  // 0 is the newest

 private:
  std::vector<Reading> points_;
  std::size_t size_ = 0;
};

struct Envelope {
  Line theta;
  double margin = 0;  // d: approximately the least delay of one direction
};

// Both hulls must have a point. If the readings do not determine the rate, as with a single
// exchange, it is `fallback`.
Envelope widest(const Hull& out, const Hull& back, double origin, double fallback);
// The same for a given rate.
Envelope widest_at_rate(const Hull& out, const Hull& back, double origin, double rate);

}  // namespace tempo::clock
