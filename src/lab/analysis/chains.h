// Chains of priorities: the number of ways in which n stations can draw from 1..m and form k
// chains.
//
// In a round of the equitable ring a station survives if its predecessor drew at least as much. The
// survivors are therefore the first stations of the strictly increasing chains that the priorities
// form around the ring, and the election time follows from the number of assignments with each
// number of chains. A chain may wrap around the ring (circular) or end at the end of a line of
// stations (linear).
//
// Source: Polajnar & Unkasevic 1994, section 3, corrected: in Proposition 1(b) the sign alternates
// with i, and the recurrence (8) runs to k = n. All values are exact, since the terms cancel
// massively.
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

// R(n,k): exactly k increasing circular chains; k = 0..n, where the count for k = 0 is 0.
std::vector<Whole> circular_increasing(std::uint32_t n, std::uint64_t m);
// R~(n,k): exactly k non-decreasing circular chains, k = 0..n. Equal priorities form no chain,
// since it would have neither beginning nor end.
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
