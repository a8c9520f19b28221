// Statistics of a number of runs: a value, and an interval that contains the truth.
//
// All intervals have the same confidence, high enough that among a hundred true claims almost never
// one appears false.
#pragma once

#include <cstdint>
#include <vector>

namespace tempo::papers {

inline constexpr double kConfidence = 0.9999;
inline constexpr double kDeviations = 3.8906;  // two-sided limit of a normal distribution

struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
  std::uint64_t runs = 0;

  bool contains(double truth) const { return low <= truth && truth <= high; }
};

// Fraction count / runs with Wilson's interval. Without runs the interval is [0, 1].
Estimate proportion(std::uint64_t count, std::uint64_t runs);

// Sums for mean and variance; the order of addition is irrelevant only for whole numbers.
struct Moments {
  std::uint64_t runs = 0;
  double sum = 0;
  double squares = 0;

  void add(double value, std::uint64_t times = 1);
};
// The mean, with the interval of a normal distribution.
Estimate mean_of(const Moments& moments);

// Smallest and largest value of single runs.
struct Extremes {
  std::uint64_t runs = 0;
  double least = 0;
  double most = 0;

  void add(double value);
};

// Chi-square distance of counts from their expected values, and its limit. Cells with an expected
// count below five are merged with their neighbours.
struct Distance {
  double chi_square = 0;
  std::uint32_t freedom = 0;  // degrees of freedom
  double limit = 0;           // exceeded with probability 1 - kConfidence
};
Distance distance(const std::vector<std::uint64_t>& counts, const std::vector<double>& expected);
// Approximation of Wilson and Hilferty.
double chi_square_limit(std::uint32_t freedom);

}  // namespace tempo::papers
