// A distribution as text: one line per value, with a bar whose length shows the probability.
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
  std::string value;  // as printed
  double share = 0;   // length of the bar relative to the others; not negative
};

// The longest bar fills the width that the labels leave, at most 60 columns.
std::string bars(const std::vector<Bar>& rows, std::size_t width, bool unicode);

}  // namespace tempo::report
