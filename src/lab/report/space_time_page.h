// What the space-time page has around its picture: style, script, and the heading with the legend.
//
// The script only helps to read (highlight, filter, zoom); without it the page shows the same
// picture.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "lab/report/space_time_picture.h"

namespace tempo::report {

// States are coloured --s0, --s1, ... in this many colours, then again from the first.
inline constexpr std::size_t kStateColours = 12;

std::size_t state_colour(const Picture& picture, std::string_view state);

// Title, what is left out, and the legend.
std::string space_time_heading(const Picture& picture, const SpaceTimeOptions& options);

// What the colours and messages are called.
std::string space_time_legend(const Picture& picture);

std::string space_time_style();
std::string space_time_script();

}  // namespace tempo::report
