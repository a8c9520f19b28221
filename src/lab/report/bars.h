// A distribution for people at a terminal: a line for each value, a bar as long as it is likely.
//
//     3   0.34   ████████████████████████
//     4   0.41   █████████████████████████████
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tempo::report {

struct Bar {
  std::string label;
  std::string value;  // as it is written
  double share = 0;   // what the bar shows; not negative
};

// The longest bar takes what the labels leave of the width, at most 60 columns.
std::string bars(const std::vector<Bar>& rows, std::size_t width, bool unicode);

}  // namespace tempo::report
