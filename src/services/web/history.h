// Offset and bound of a clock over the last day, in bounded memory.
//
// Three rings with buckets of increasing length. A bucket has the smallest and the largest offset
// and the largest bound of its time, so that downsampling hides no excursion. When time goes back
// by more than a bucket (the clock was stepped), the buckets that lie ahead are dropped.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

namespace tempo::web {

class Series {
 public:
  struct Level {
    std::int64_t step_s;
    std::size_t buckets;
  };
  static constexpr std::array<Level, 3> kLevels{{{2, 300}, {20, 180}, {240, 360}}};

  // `at_s`: seconds since 1970; values in microseconds.
  void add(double at_s, double offset_us, double bound_us);
  // The finest level that reaches back `span_s`, as {"step_s": ..., "points": [[t, least offset,
  // largest offset, largest bound], ...]}.
  std::string json(double span_s) const;
  bool empty() const { return rings_[0].empty(); }

 private:
  struct Bucket {
    std::int64_t number;  // start, in steps since 1970
    float low;
    float high;
    float bound;
  };
  std::array<std::deque<Bucket>, kLevels.size()> rings_;
};

}  // namespace tempo::web
