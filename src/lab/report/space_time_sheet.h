// The sheet a space-time diagram is drawn on: where nodes and instants are, what room labels have
// left, and the layers, from the back to the front. Several draw on it, each their own things.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lab/report/space_time.h"
#include "lab/report/space_time_layout.h"
#include "lab/report/space_time_picture.h"

namespace tempo::report {

struct Sheet {
  // All lengths in CSS pixels.
  static constexpr double kGutter = 112;  // left, for the time
  static constexpr double kRight = 96;    // right, for the network's faults
  static constexpr double kTop = 34;      // above the first instant
  static constexpr double kBottom = 44;   // below the last

  // Both must outlive it.
  Sheet(const Picture& drawn, const SpaceTimeOptions& how);

  double x(NodeId node) const { return kGutter + lane * (index(node) + 0.5); }
  double y(Instant at) const { return kTop + scale.y(at); }
  std::string name(NodeId node) const;  // as the reader knows it

  const Picture& picture;
  const SpaceTimeOptions& options;
  TimeScale scale;
  double lane;  // how wide each is
  double width;
  double height;
  LabelRoom room{};
  std::string grid{}, lives{}, arrows{}, marks{}, labels{};
};

double text_width(std::string_view text);
inline std::int64_t nanos(Instant at) { return at.time_since_epoch().count(); }

}  // namespace tempo::report
