// The sheet of a space-time diagram: positions of nodes and instants, free places for labels, and
// the layers from back to front. Several classes draw on it.
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
  static constexpr double kGutter = 112;  // left margin, for the time
  static constexpr double kRight = 96;    // right margin, for faults of the network
  static constexpr double kTop = 34;      // above the first instant
  static constexpr double kBottom = 44;   // below the last instant

  // Both arguments must outlive the sheet.
  Sheet(const Picture& drawn, const SpaceTimeOptions& how);

  double x(NodeId node) const { return kGutter + lane * (index(node) + 0.5); }
  double y(Instant at) const { return kTop + scale.y(at); }
  std::string name(NodeId node) const;  // from the options, or the number

  const Picture& picture;
  const SpaceTimeOptions& options;
  TimeScale scale;
  double lane;  // width of each lane
  double width;
  double height;
  LabelLayout layout{};
  std::string grid{}, lifelines{}, arrows{}, marks{}, labels{};
};

double text_width(std::string_view text);
inline std::int64_t nanos(Instant at) { return at.time_since_epoch().count(); }

}  // namespace tempo::report
