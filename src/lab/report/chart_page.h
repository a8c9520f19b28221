// What a page with charts has around them: style and script.
//
// The script draws every figure of class "chart" from its table. Dragging over a chart zooms in, a
// double click shows all again, the point next to the pointer is read off, and a click on a name
// hides or shows its series. Colours are those of the space-time diagrams' style, which must be
// there too. A drawn chart has the attribute data-drawn with the number of its marks.
#pragma once

#include <string>

namespace tempo::report {

std::string chart_style();
std::string chart_script();

}  // namespace tempo::report
