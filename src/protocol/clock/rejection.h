// Which clocks can be right together: the largest consistent group.
//
// Every clock claims an interval. If each claim were true all would share a point; the clocks that
// meet where most claims overlap are believed, the others are faulty (K. Marzullo, 1984). Whether
// the group is large enough to be believed is for the caller to say.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "protocol/clock/interval.h"

namespace tempo::clock {

struct ConsistentGroup {
  Interval overlap;                  // where most claims meet
  std::vector<std::size_t> members;  // the claims that contain it, in the order given
};

// Of several overlaps with equally many claims the lowest is taken. Nothing claimed: nobody. An
// interval that ends before it begins, or has no numbers for ends, belongs to no group.
ConsistentGroup largest_consistent(std::span<const Interval> claims);

}  // namespace tempo::clock
