#include "lab/report/space_time_sheet.h"

#include <algorithm>
#include <vector>

#include "base/display_text.h"
#include "lab/report/space_time_page.h"

namespace tempo::report {
namespace {

constexpr double kLanes = 1040;  // width of all lanes together, unless a lane would be too narrow
constexpr double kLaneMin = 72;
constexpr double kLaneMax = 190;
constexpr double kLetter = 6.1;  // mean width of a letter at 11px
// A silence is shortened if it lasts longer than this many typical messages.
constexpr int kIdleMessages = 4;

TimeScale scale_of(const Picture& picture, const SpaceTimeOptions& options) {
  std::vector<Instant> instants{picture.from, picture.to};
  for (const Item& item : picture.items) {
    instants.push_back(item.at);
    if (item.sent >= picture.from) instants.push_back(item.sent);
  }
  return {std::move(instants), picture.typical,
          options.idle.value_or(picture.typical * kIdleMessages)};
}

}  // namespace

double text_width(std::string_view text) {
  return kLetter * static_cast<double>(display_width(text));
}

Sheet::Sheet(const Picture& drawn, const SpaceTimeOptions& how)
    : picture(drawn),
      options(how),
      scale(scale_of(drawn, how)),
      lane(std::clamp(kLanes / static_cast<double>(drawn.nodes), kLaneMin, kLaneMax)),
      width(kGutter + lane * static_cast<double>(drawn.nodes) + kRight),
      height(kTop + scale.height() + kBottom) {}

std::string Sheet::name(NodeId node) const {
  return node == kNobody ? "*" : node_name(options, index(node));
}

}  // namespace tempo::report
