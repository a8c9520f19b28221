// The two kernels that run a block of equitable elections; equitable.h describes the method.
#pragma once

#include <array>
#include <cstdint>

#include "lab/analysis/equitable.h"
#include "lab/analysis/lanes.h"

namespace tempo::monte_carlo {

// Number of elections in each lane.
using LaneElections = std::array<std::uint32_t, kLanes>;

// Adds to `counts`, whose vectors must have their full size.
void draw_plain(const Equitable& ring, Lanes& lanes, const LaneElections& elections,
                EquitableCounts& counts);

// For up to 64 stations, a range that is a power of two, and no winners. Requires AVX2.
bool fits_avx2(const Equitable& ring);
void draw_avx2(const Equitable& ring, Lanes& lanes, const LaneElections& elections,
               EquitableCounts& counts);

}  // namespace tempo::monte_carlo
