// How often an election attempt of TEMPO collides: two of N timers run out within a window.
//
// Source: Gusella & Zatti 1985, appendix. The timers are uniform over an interval of some width.
#pragma once

#include <cstdint>

#include "lab/analysis/exact.h"

namespace tempo::analysis {

struct Collision {
  static constexpr std::uint32_t kMaxDaemons = 100'000;

  std::uint32_t daemons = 2;  // at least 1; one alone counts as colliding at the interval's end
  Fraction window = 0;        // at least 0
  Fraction width = 1;         // above 0
};

// Equation (3): 1 - (1 - window / width)^N; 1 where the window is as wide as the interval.
Fraction collision(const Collision& collision);
// N * window / width, never less.
Fraction collision_bound(const Collision& collision);
// Equation (2), integrated term by term as it stands: the same by another way. N <= 200.
Fraction collision_integral(const Collision& collision);

}  // namespace tempo::analysis
