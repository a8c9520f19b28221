// Where things go on the page: instants to heights, and labels to places where nothing else is.
//
// TimeScale is linear while things happen, such that a typical message falls a fixed distance. A
// silence longer than that grows with its square root, a really long one is broken; and different
// instants are kept apart enough to be seen. LabelRoom remembers what is drawn and says whether a
// box is free and how many lines a box would cover.
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

  // The instants may come in any order and more than once; at least one is given.
  TimeScale(std::vector<Instant> instants, Nanos typical, Nanos idle);

  // Of any instant; between and beyond the given ones by interpolation.
  double y(Instant at) const;
  double height() const { return heights_.back(); }
  const std::vector<Instant>& instants() const { return instants_; }  // sorted, each once
  const std::vector<Break>& breaks() const { return breaks_; }
  bool after_break(std::size_t instant) const { return after_break_[instant]; }

  static constexpr double kTypicalDrop = 64;  // of a message that takes the typical time
  static constexpr double kBreakHeight = 54;  // of a shortened silence
  static constexpr double kLeastStep = 2.5;   // between different instants

 private:
  std::vector<Instant> instants_;
  std::vector<double> heights_;    // of each instant
  std::vector<bool> after_break_;  // of each instant; true for the first
  std::vector<Break> breaks_;
};

struct Box {
  double left, top, right, bottom;
};
struct Line {
  double x1, y1, x2, y2;
};

class LabelRoom {
 public:
  void draw(const Line& line);
  void take(const Box& box);
  bool is_free(const Box& box) const;
  // Lines through the box; one that ends in it counts three times, since it hides an arrow's head.
  int covered(const Box& box) const;

 private:
  struct Bucket {
    std::vector<Line> lines;
    std::vector<Box> boxes;
  };
  std::unordered_map<int, Bucket> buckets_;  // by height, kBucket each
};

}  // namespace tempo::report
