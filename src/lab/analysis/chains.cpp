#include "lab/analysis/chains.h"

#include <numeric>

#include "base/check.h"

namespace tempo::analysis {
namespace {

Whole whole(std::uint64_t value) { return Whole{static_cast<std::int64_t>(value)}; }

// C(m t + n - 1, n) for t = 0..n: the terms of Proposition 1(b).
std::vector<Whole> rising_binomials(std::uint32_t n, std::uint64_t m) {
  std::vector<Whole> values;
  values.reserve(n + 1);
  values.emplace_back(0);  // C(n - 1, n)
  for (std::uint32_t t = 1; t <= n; ++t)
    values.push_back(Whole::binomial(whole(m) * whole(t) + whole(n - 1), n));
  return values;
}

std::vector<Whole> signs_and_binomials(std::uint32_t n) {
  std::vector<Whole> values;
  values.reserve(n + 2);
  for (std::uint32_t i = 0; i <= n + 1; ++i) {
    const Whole one = Whole::binomial(whole(n + 1), i);
    values.push_back(i % 2 == 0 ? one : Whole{0} - one);
  }
  return values;
}

Whole alternating(std::uint32_t k, const std::vector<Whole>& signs,
                  const std::vector<Whole>& rising) {
  Whole sum;
  for (std::uint32_t i = 0; i <= k; ++i) sum.add_product(signs[i], rising[k - i]);
  return sum;
}

}  // namespace

Whole linear_nondecreasing(std::uint32_t n, std::uint64_t m, std::uint32_t k) {
  if (k < 1 || k > n) return 0;
  return alternating(k, signs_and_binomials(n), rising_binomials(n, m));
}

Whole linear_increasing(std::uint32_t n, std::uint64_t m, std::uint32_t k) {
  if (k < 1 || k > n) return 0;
  return linear_nondecreasing(n, m, n - k + 1);
}

Whole linear_nondecreasing(std::span<const std::uint32_t> counts, std::uint32_t k) {
  const std::uint32_t n = std::accumulate(counts.begin(), counts.end(), 0U);
  if (k < 1 || k > n) return 0;
  const std::vector<Whole> signs = signs_and_binomials(n);
  Whole sum;
  for (std::uint32_t i = 0; i <= k; ++i) {
    Whole product = 1;
    for (const std::uint32_t count : counts)
      // For i = k the upper argument is count - 1: the binomial is 0 unless the count is 0.
      product *= count == 0 ? Whole{1} : Whole::binomial(whole(count - 1 + k - i), count);
    sum.add_product(signs[i], product);
  }
  return sum;
}

std::vector<Whole> circular_increasing(std::uint32_t n, std::uint64_t m) {
  CHECK(n >= 1 && m >= 1);
  const std::vector<Whole> signs = signs_and_binomials(n);
  const std::vector<Whole> rising = rising_binomials(n, m);
  std::vector<Whole> row(n + 1);
  for (std::uint32_t k = 1; k <= n; ++k) {
    // k R(n,k) + (n-k+1) R(n,k-1) = n L(n,k): cut the ring anywhere.
    Whole left = whole(n) * alternating(n - k + 1, signs, rising);
    left.subtract_product(whole(n - k + 1), row[k - 1]);
    row[k] = left.divided_exactly(whole(k));
  }
  return row;
}

std::vector<Whole> circular_nondecreasing(std::uint32_t n, std::uint64_t m) {
  // Read backwards, a non-decreasing chain ends exactly where no increasing chain ends.
  const std::vector<Whole> increasing = circular_increasing(n, m);
  return {increasing.rbegin(), increasing.rend()};
}

CircularChains::CircularChains(std::uint32_t n, std::uint64_t m) : range_(m) {
  rows_.reserve(n + 1);
  rows_.emplace_back();
  for (std::uint32_t i = 1; i <= n; ++i) rows_.push_back(circular_increasing(i, m));
}

}  // namespace tempo::analysis
