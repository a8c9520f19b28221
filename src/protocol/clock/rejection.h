// Selection of correct clocks: the largest consistent group (K. Marzullo, 1984).
//
// Every clock claims an interval. Correct claims all contain the true time, so they share a point.
// The clocks whose claims contain the point covered by most claims are taken as correct, the others
// as faulty (falsetickers). The caller decides if the group is large enough.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "protocol/clock/interval.h"

namespace tempo::clock {

struct ConsistentGroup {
  Interval overlap;                  // intersection of the members' claims
  std::vector<std::size_t> members;  // indices of the claims that contain it, ascending
};

// Among overlaps of equally many claims it returns the lowest. Without claims the group is empty.
// An interval that ends before it begins, or has a NaN as an end, belongs to no group.
ConsistentGroup largest_consistent(std::span<const Interval> claims);

}  // namespace tempo::clock
