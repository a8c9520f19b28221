#include "lab/papers/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace tempo::papers {
namespace {

constexpr double kOneSided = 3.7190;  // one-sided limit, in standard deviations
constexpr double kFewest = 5;         // smallest expected count of a cell
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

Estimate proportion(std::uint64_t count, std::uint64_t runs) {
  if (runs == 0) return {.value = 0, .low = 0, .high = 1, .runs = 0};
  const auto n = static_cast<double>(runs);
  const double part = static_cast<double>(count) / n;
  const double z2 = kDeviations * kDeviations;
  const double middle = (part + z2 / (2 * n)) / (1 + z2 / n);
  const double wide =
      kDeviations / (1 + z2 / n) * std::sqrt(part * (1 - part) / n + z2 / (4 * n * n));
  return {.value = part,
          .low = count == 0 ? 0 : std::max(0.0, middle - wide),
          .high = count == runs ? 1 : std::min(1.0, middle + wide),
          .runs = runs};
}

void Moments::add(double value, std::uint64_t times) {
  const auto n = static_cast<double>(times);
  runs += times;
  sum += n * value;
  squares += n * value * value;
}

Estimate mean_of(const Moments& moments) {
  if (moments.runs == 0) return {.value = 0, .low = -kInfinity, .high = kInfinity, .runs = 0};
  const auto n = static_cast<double>(moments.runs);
  const double mean = moments.sum / n;
  const double variance = std::max(0.0, moments.squares / n - mean * mean);
  const double wide = kDeviations * std::sqrt(variance / n);
  return {.value = mean, .low = mean - wide, .high = mean + wide, .runs = moments.runs};
}

void Extremes::add(double value) {
  least = runs == 0 ? value : std::min(least, value);
  most = runs == 0 ? value : std::max(most, value);
  ++runs;
}

double chi_square_limit(std::uint32_t freedom) {
  const double k = freedom;
  const double part = 1 - 2 / (9 * k) + kOneSided * std::sqrt(2 / (9 * k));
  return k * part * part * part;
}

Distance distance(const std::vector<std::uint64_t>& counts, const std::vector<double>& expected) {
  CHECK(counts.size() == expected.size());
  Distance result;
  double seen = 0;
  double wanted = 0;
  double last_wanted = 0;  // expected count of the last complete cell, which receives the remainder
  double last_seen = 0;
  std::uint32_t cells = 0;
  const auto close = [&] {
    if (cells > 0)
      result.chi_square += (last_seen - last_wanted) * (last_seen - last_wanted) / last_wanted;
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    seen += static_cast<double>(counts[i]);
    wanted += expected[i];
    if (wanted < kFewest) continue;
    close();
    last_seen = seen;
    last_wanted = wanted;
    seen = wanted = 0;
    ++cells;
  }
  last_seen += seen;
  last_wanted += wanted;
  close();
  result.freedom = cells > 1 ? cells - 1 : 1;
  result.limit = chi_square_limit(result.freedom);
  return result;
}

}  // namespace tempo::papers
