// Chains of priorities: how many ways n stations can draw from 1..m so that k chains come of it.
//
// In a round of the equitable ring a station survives if the one before it drew as much or more, so
// the survivors are the first stations of the strictly increasing chains that the priorities form
// around the ring. Everything about election time follows from how many assignments have how many.
// A chain may run round the ring (circular) or end where a line of stations ends (linear).
//
// Source: Polajnar & Unkasevic 1994, section 3, corrected: in Proposition 1(b) the sign alternates
// with i, and the recurrence (8) runs to k = n. All of it is exact: the terms cancel massively.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/analysis/exact.h"

namespace tempo::analysis {

// L~(n,k): exactly k non-decreasing linear chains. 1 <= k <= n; 0 outside.
Whole linear_nondecreasing(std::uint32_t n, std::uint64_t m, std::uint32_t k);
// L(n,k): exactly k increasing linear chains.
Whole linear_increasing(std::uint32_t n, std::uint64_t m, std::uint32_t k);
// Equation (4): k non-decreasing linear chains among the arrangements of a multiset, counts[j] of
// the j-th priority.
Whole linear_nondecreasing(std::span<const std::uint32_t> counts, std::uint32_t k);

// R(n,k): exactly k increasing circular chains; k = 0..n, of which k = 0 is impossible.
std::vector<Whole> circular_increasing(std::uint32_t n, std::uint64_t m);
// R~(n,k): exactly k non-decreasing circular chains, k = 0..n. All equal is no chain at all: it has
// neither beginning nor end.
std::vector<Whole> circular_nondecreasing(std::uint32_t n, std::uint64_t m);

// R(i,j) for all 1 <= j <= i <= n.
class CircularChains {
 public:
  CircularChains(std::uint32_t n, std::uint64_t m);

  std::uint32_t stations() const { return static_cast<std::uint32_t>(rows_.size()) - 1; }
  std::uint64_t range() const { return range_; }
  const Whole& at(std::uint32_t i, std::uint32_t j) const { return rows_[i][j]; }

 private:
  std::uint64_t range_;
  std::vector<std::vector<Whole>> rows_;  // [i][j]; row 0 is empty
};

}  // namespace tempo::analysis
