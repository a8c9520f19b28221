// Layout of the page: vertical positions of instants, and free places for labels.
//
// TimeScale is linear during activity, such that a typical message falls a fixed distance. A longer
// silence grows with its square root and a very long one is broken; different instants keep a
// minimum distance. LabelLayout records the occupied area and answers whether a box is free and how
// many lines it would cover.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "base/units.h"

namespace tempo::report {

class TimeScale {
 public:
  struct Break {
    double top;
    double bottom;
    Nanos skipped;
  };

  // The instants may be unsorted and repeated; at least one is required.
  TimeScale(std::vector<Instant> instants, Nanos typical, Nanos idle);

  // Position of any instant, interpolated between the given ones.
  double y(Instant at) const;
  double height() const { return heights_.back(); }
  const std::vector<Instant>& instants() const { return instants_; }  // sorted, each once
  const std::vector<Break>& breaks() const { return breaks_; }
  bool after_break(std::size_t instant) const { return after_break_[instant]; }

  static constexpr double kTypicalDrop = 64;  // height of a message that takes the typical time
  static constexpr double kBreakHeight = 54;  // height of a shortened silence
  static constexpr double kLeastStep = 2.5;   // minimum distance of different instants

 private:
  std::vector<Instant> instants_;
  std::vector<double> heights_;    // position of each instant
  std::vector<bool> after_break_;  // of each instant; true for the first
  std::vector<Break> breaks_;
};

struct Box {
  double left, top, right, bottom;
};
struct Line {
  double x1, y1, x2, y2;
};

class LabelLayout {
 public:
  void draw(const Line& line);
  void take(const Box& box);
  bool is_free(const Box& box) const;
  // Number of lines through the box. A line that ends in it counts three times, since the box would
  // hide an arrowhead.
  int covered(const Box& box) const;

 private:
  struct Bucket {
    std::vector<Line> lines;
    std::vector<Box> boxes;
  };
  std::unordered_map<int, Bucket> buckets_;  // by vertical position, in units of kBucket
};

}  // namespace tempo::report
