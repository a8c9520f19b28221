// Election time of the equitable ring: the number of rounds until one station is left.
//
// T_n counts rounds until one of n stations is active. The round in which that station finds itself
// alone is not counted, so the algorithm loops T_n + 1 times and a run takes n (T_n + 1) hops. A
// round leads from i active stations to j with probability p(i,j) = R(i,j) / m^i (chains.h).
//
// Source: Polajnar & Unkasevic 1994, sections 4 and 5, corrected: in (9) the state 1 is absorbing
// and counted once, so p(1,1) is 0 in the recurrence.
//
// Beyond a certain size the result is a pair of bounds, close enough for forty certain digits and
// computed with directed rounding, instead of a fraction with thousands of digits. All terms are
// positive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/analysis/chains.h"
#include "lab/analysis/decimal.h"
#include "lab/analysis/exact.h"

namespace tempo::analysis {

// A value: its decimal, and the exact value if its size allows.
struct Number {
  std::optional<Fraction> exact;
  std::string decimal;
  double nearest = 0;
};

class RingTime {
 public:
  static constexpr std::uint32_t kMaxStations = 512;
  static constexpr std::uint32_t kMaxRounds = 10'000;
  static constexpr std::uint32_t kMaxMoments = 16;

  // 1 to kMaxStations stations, priorities 1..m.
  RingTime(std::uint32_t n, std::uint64_t m);

  std::uint32_t stations() const { return chains_.stations(); }
  std::uint64_t range() const { return chains_.range(); }
  const CircularChains& chains() const { return chains_; }

  // p(i,j): probability that one round leads from i stations to j.
  Fraction step(std::uint32_t i, std::uint32_t j) const;
  // p(i,j,k): probability that k rounds lead from i stations to j.
  Fraction steps(std::uint32_t i, std::uint32_t j, std::uint32_t k) const;

  // P{T_n = k} for k = first..last; last <= kMaxRounds.
  std::vector<Number> distribution(std::uint32_t first, std::uint32_t last) const;
  // The same for one k, by the explicit sum of Theorem 3. Requires n <= 12 and k <= 12: the number
  // of terms grows with the number of paths.
  Fraction by_sum(std::uint32_t k) const;

  // E[T_n^0], E[T_n], ... E[T_n^q]. q <= kMaxMoments.
  std::vector<Number> moments(std::uint32_t q) const;
  // E[(T_n - E[T_n])^0], ... up to order q; the second is the variance.
  std::vector<Number> central_moments(std::uint32_t q) const;
  // Mean and variance of the number of rounds that remove a station.
  std::vector<Number> productive_moments() const;

  // Lemma 2: an upper bound of P{T_n = k}, for k >= n.
  Fraction bound(std::uint32_t k) const;
  // Growth of E[T_n]: ln n / ln(2m / (m + 1)).
  double growth() const;

 private:
  CircularChains chains_;
};

}  // namespace tempo::analysis
