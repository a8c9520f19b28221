// The probability that an election attempt of TEMPO collides: two of N timers expire within a
// window.
//
// Source: Gusella & Zatti 1985, appendix. The timers are uniform over an interval of given width.
#pragma once

#include <cstdint>

#include "lab/analysis/exact.h"

namespace tempo::analysis {

struct Collision {
  static constexpr std::uint32_t kMaxDaemons = 100'000;

  std::uint32_t daemons = 2;  // at least 1; a single daemon never collides
  Fraction window = 0;        // at least 0
  Fraction width = 1;         // above 0
};

// Equation (3): 1 - (1 - window / width)^N; 1 if the window is as wide as the interval. For one
// daemon 0, where the equation as printed gives window / width.
Fraction collision(const Collision& collision);
// Upper bound N * window / width.
Fraction collision_bound(const Collision& collision);
// Equation (2), integrated term by term as printed; equal to collision() for N > 1. Requires N <=
// 200.
Fraction collision_integral(const Collision& collision);

}  // namespace tempo::analysis
