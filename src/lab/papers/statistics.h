// What a number of runs says about the truth: a value and the interval in which the truth is.
//
// All intervals have one confidence, so high that among a hundred claims that are true hardly ever
// one seems false.
#pragma once

#include <cstdint>
#include <vector>

namespace tempo::papers {

inline constexpr double kConfidence = 0.9999;
inline constexpr double kDeviations = 3.8906;  // of a normal distribution, to both sides of it

struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
  std::uint64_t runs = 0;

  bool contains(double truth) const { return low <= truth && truth <= high; }
};

// So many of the runs: Wilson's interval. Without runs it is everything.
Estimate proportion(std::uint64_t count, std::uint64_t runs);

// Sums of which mean and variance follow; they add up in any order only if they are whole.
struct Moments {
  std::uint64_t runs = 0;
  double sum = 0;
  double squares = 0;

  void add(double value, std::uint64_t times = 1);
};
// The mean, with the interval of a normal distribution.
Estimate mean_of(const Moments& moments);

// What single runs gave: the least and the most.
struct Extremes {
  std::uint64_t runs = 0;
  double least = 0;
  double most = 0;

  void add(double value);
};

// How far counts are from what they should be, and how far they may be. Cells expected to have
// fewer than five are put together with their neighbours.
struct Distance {
  double chi_square = 0;
  std::uint32_t freedom = 0;  // degrees of it
  double limit = 0;           // passed with probability 1 - kConfidence
};
Distance distance(const std::vector<std::uint64_t>& counts, const std::vector<double>& expected);
// By Wilson and Hilferty.
double chi_square_limit(std::uint32_t freedom);

}  // namespace tempo::papers
