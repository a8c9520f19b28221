// Style and script of a page with charts.
//
// The script draws every figure of class "chart" from its table. Dragging over a chart zooms in, a
// double click resets the zoom, the nearest point to the pointer is displayed, and a click on a
// name hides or shows its series. The colours come from the style of the space-time diagrams, which
// the page must include. A drawn chart has the attribute data-drawn with the number of its marks.
#pragma once

#include <string>

namespace tempo::report {

std::string chart_style();
std::string chart_script();

}  // namespace tempo::report
