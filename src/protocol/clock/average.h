// The simplest ensemble: the mean of all clocks that agree.
//
// What the master of TEMPO does every round (R. Gusella and S. Zatti, 1985): of the clocks' offsets
// the largest group that lies within a tolerance is averaged, the rest are faulty and only
// corrected.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/units.h"

namespace tempo::clock {

struct Average {
  Nanos mean{0};                  // of those that agree
  std::vector<std::size_t> used;  // in the order given
};

// Offsets are against any one clock; no two of those used differ by more than `tolerance`. Nobody
// given: a mean of 0 of nobody.
Average average_of_agreeing(std::span<const Nanos> offsets, Nanos tolerance);

}  // namespace tempo::clock
