// Style, script, heading and legend of the space-time page.
//
// The script only helps reading (highlight, filter, zoom); the diagram is complete without it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "lab/report/space_time_picture.h"

namespace tempo::report {

// States use the colours --s0, --s1, ...; after kStateColours states the colours repeat.
inline constexpr std::size_t kStateColours = 12;

std::size_t state_colour(const Picture& picture, std::string_view state);

// Title, notes on omissions, and the legend.
std::string space_time_heading(const Picture& picture, const SpaceTimeOptions& options);

// The legend of colours and messages.
std::string space_time_legend(const Picture& picture);

std::string space_time_style();
std::string space_time_script();

}  // namespace tempo::report
