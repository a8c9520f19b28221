// The line with the widest margin below a cloud of readings.
//
// Each reading of the way out bounds theta from one side, each of the way back from the other. Of
// all lines the envelope takes the one that leaves the largest common margin d to both clouds; for
// exponential queueing it is the most likely one. Only the lower convex hulls matter, and because d
// is concave in the rate one walk along both hulls finds it exactly.
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
  explicit Hull(std::size_t most) : points_(most) {}

  void clear() { size_ = 0; }
  // At most `most` readings between two clears. One that is not older than the last is left out: it
  // came late, and so bounds nothing.
  void push(const Reading& reading) {
    Reading* const points = points_.data();
    if (size_ > 0 && reading.t >= points[size_ - 1].t) return;
    while (size_ >= 2) {
      const Reading& last = points[size_ - 1];
      const Reading& before = points[size_ - 2];
      // The last point stays only if it lies below the line from the one before it to the new one.
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
  double margin = 0;  // d: about the least delay of a way
};

// Both hulls must have a point. With one instant only, or where the data leave it open, the rate is
// `fallback`.
Envelope widest(const Hull& out, const Hull& back, double origin, double fallback);
// The same with a rate that is given.
Envelope widest_at_rate(const Hull& out, const Hull& back, double origin, double rate);

}  // namespace tempo::clock
