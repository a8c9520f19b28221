// Statistics compared with independently computed values and with random samples.
#include "lab/papers/statistics.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace tempo::papers {
namespace {

TEST(Proportion, HasWilsonsInterval) {
  // Centre (p + z²/2n)/(1 + z²/n), computed by hand for 50 of 100 and z = 3.8906.
  const Estimate half = proportion(50, 100);
  EXPECT_DOUBLE_EQ(half.value, 0.5);
  EXPECT_NEAR(half.low, 0.31871, 1e-4);
  EXPECT_NEAR(half.high, 0.68129, 1e-4);
  // None of n: z²/(n + z²).
  EXPECT_EQ(proportion(0, 1000).low, 0);
  EXPECT_NEAR(proportion(0, 1000).high, 15.1368 / 1015.1368, 1e-5);
  EXPECT_EQ(proportion(1000, 1000).high, 1);
  EXPECT_EQ(proportion(0, 0).low, 0);
  EXPECT_EQ(proportion(0, 0).high, 1);
}

TEST(MeanOf, IsMeanAndDeviations) {
  Moments moments;
  for (const double value : {1.0, 2.0, 3.0, 4.0}) moments.add(value);
  const Estimate mean = mean_of(moments);
  EXPECT_DOUBLE_EQ(mean.value, 2.5);
  // Variance 1.25 of four values.
  EXPECT_NEAR(mean.high - mean.value, 3.8906 * std::sqrt(1.25 / 4), 1e-9);
  Moments weighted;
  weighted.add(1, 3);
  weighted.add(5);
  EXPECT_DOUBLE_EQ(mean_of(weighted).value, 2);
  EXPECT_EQ(mean_of(weighted).runs, 4U);
}

// The 99.99th percentiles, from the incomplete gamma function. The approximation is too large for
// few degrees of freedom.
TEST(ChiSquareLimit, IsNearTheTables) {
  EXPECT_NEAR(chi_square_limit(1), 15.1367, 1.1);
  EXPECT_NEAR(chi_square_limit(5), 25.7448, 0.6);
  EXPECT_NEAR(chi_square_limit(10), 35.5640, 0.45);
  EXPECT_NEAR(chi_square_limit(60), 109.5029, 0.2);
}

TEST(Distance, IsTheSumOfSquares) {
  const Distance far = distance({30, 70}, {50, 50});
  EXPECT_DOUBLE_EQ(far.chi_square, 16);
  EXPECT_EQ(far.freedom, 1U);
  EXPECT_EQ(distance({50, 50}, {50, 50}).chi_square, 0);
}

TEST(Distance, MergesRareCells) {
  // 2 + 4 form one cell, and the last 1 is merged with the cell before it.
  const Distance rare = distance({3, 3, 50, 1}, {2, 4, 50, 1});
  EXPECT_EQ(rare.freedom, 1U);
  EXPECT_DOUBLE_EQ(rare.chi_square, 0);
  EXPECT_GT(distance({9, 3, 44, 1}, {2, 4, 50, 1}).chi_square, 5);
}

// At most a few of ten thousand intervals around a true value miss it, and almost all intervals
// around a false value do.
TEST(Proportion, ContainsTheTruthOnly) {
  Stream stream(1, 1, 0);
  int missed = 0;
  int fooled = 0;
  for (int i = 0; i < 2'000; ++i) {
    std::uint64_t count = 0;
    for (int j = 0; j < 400; ++j) count += stream.unit() < 0.3 ? 1U : 0U;
    missed += proportion(count, 400).contains(0.3) ? 0 : 1;
    fooled += proportion(count, 400).contains(0.5) ? 1 : 0;
  }
  EXPECT_LE(missed, 3);
  EXPECT_LE(fooled, 20);
}

}  // namespace
}  // namespace tempo::papers
