// The two ways to draw a block of equitable elections; equitable.h says what they have in common.
#pragma once

#include <array>
#include <cstdint>

#include "lab/analysis/equitable.h"
#include "lab/analysis/lanes.h"

namespace tempo::monte_carlo {

// How many elections each lane holds.
using LaneElections = std::array<std::uint32_t, kLanes>;

// Adds to `counts`, whose vectors have their full size.
void draw_plain(const Equitable& ring, Lanes& lanes, const LaneElections& elections,
                EquitableCounts& counts);

// Up to 64 stations, a range that is a power of two, no winners. Needs AVX2.
bool fits_avx2(const Equitable& ring);
void draw_avx2(const Equitable& ring, Lanes& lanes, const LaneElections& elections,
               EquitableCounts& counts);

}  // namespace tempo::monte_carlo
