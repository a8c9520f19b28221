#include "lab/analysis/ring_time.h"

#include <cmath>

#include <gtest/gtest.h>

#include "lab/analysis/golden_test_file.h"

namespace tempo::analysis {
namespace {

TEST(RingTime, DistributionAgreesWithTheGoldenValues) {
  int compared = 0;
  for (const Json& row : golden(TEMPO_TESTDATA "/ring_distribution.json").elements()) {
    const auto k = static_cast<std::uint32_t>(row.count_at("k").value());
    const RingTime ring(static_cast<std::uint32_t>(row.count_at("n").value()),
                        row.count_at("m").value());
    const Number number = ring.distribution(k, k).front();
    EXPECT_EQ(number.exact->text(), row.text_at("P").value());
    EXPECT_EQ(decimal(*number.exact, 15), row.text_at("P_dec").value());
    EXPECT_EQ(ring.by_sum(k), *number.exact);
    ++compared;
  }
  EXPECT_EQ(compared, 90);
}

TEST(RingTime, MomentsAgreeWithTheGoldenValues) {
  int compared = 0;
  for (const Json& row : golden(TEMPO_TESTDATA "/ring_moments.json").elements()) {
    const RingTime ring(static_cast<std::uint32_t>(row.count_at("n").value()),
                        row.count_at("m").value());
    const std::vector<Number> raw = ring.moments(1);
    const std::vector<Number> central = ring.central_moments(2);
    EXPECT_EQ(raw[1].exact->text(), row.text_at("E").value());
    EXPECT_EQ(decimal(*raw[1].exact, 20), row.text_at("E_dec").value());
    EXPECT_EQ(central[2].exact->text(), row.text_at("Var").value());
    EXPECT_EQ(decimal(*central[2].exact, 20), row.text_at("Var_dec").value());
    ++compared;
  }
  EXPECT_EQ(compared, 15);
}

// The recurrence, the sum over paths and p(n,1,k) give the same number.
TEST(RingTime, IsTheSameByThreeMethods) {
  for (std::uint32_t n = 2; n <= 6; ++n)
    for (const std::uint64_t m : {2ULL, 5ULL, 16ULL}) {
      const RingTime ring(n, m);
      const std::vector<Number> numbers = ring.distribution(1, 7);
      for (std::uint32_t k = 1; k <= 7; ++k) {
        EXPECT_EQ(ring.by_sum(k), *numbers[k - 1].exact);
        EXPECT_EQ(ring.steps(n, 1, k), *numbers[k - 1].exact);
      }
    }
}

TEST(RingTime, StepsAddUp) {
  const RingTime ring(9, 5);
  for (std::uint32_t i = 2; i <= 9; ++i) {
    Fraction sum = 0;
    for (std::uint32_t j = 1; j <= i; ++j) sum += ring.step(i, j);
    EXPECT_EQ(sum, Fraction{1});
  }
  EXPECT_EQ(ring.step(1, 1), Fraction{0});
  EXPECT_EQ(ring.steps(4, 4, 0), Fraction{1});
  EXPECT_EQ(ring.steps(4, 3, 0), Fraction{0});
  // Chapman-Kolmogorov.
  Fraction sum = 0;
  for (std::uint32_t l = 2; l <= 9; ++l) sum += ring.steps(9, l, 2) * ring.steps(l, 2, 3);
  EXPECT_EQ(sum, ring.steps(9, 2, 5));
}

// The mean and the second moment, summed over the distribution until the remainder is small.
TEST(RingTime, MomentsAreThoseOfTheDistribution) {
  const RingTime ring(7, 4);
  double mean = 0;
  double square = 0;
  double cube = 0;
  const std::vector<Number> numbers = ring.distribution(1, 60);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto k = static_cast<double>(i + 1);
    mean += k * numbers[i].nearest;
    square += k * k * numbers[i].nearest;
    cube += k * k * k * numbers[i].nearest;
  }
  const std::vector<Number> raw = ring.moments(3);
  EXPECT_NEAR(raw[1].nearest, mean, 1e-12);
  EXPECT_NEAR(raw[2].nearest, square, 1e-11);
  EXPECT_NEAR(raw[3].nearest, cube, 1e-10);
  EXPECT_NEAR(ring.central_moments(3)[3].nearest, cube - 3 * mean * square + 2 * mean * mean * mean,
              1e-10);
}

// A request for many values uses enclosures, a request for one uses fractions: both give the same
// digits.
TEST(RingTime, CertifiedDecimalsAgreeWithFractions) {
  const RingTime ring(30, 16);
  const std::vector<Number> exact = ring.moments(1);
  const std::vector<Number> enclosed = ring.moments(6);
  ASSERT_TRUE(exact[1].exact && !enclosed[1].exact);
  EXPECT_EQ(exact[1].decimal, enclosed[1].decimal);
  EXPECT_EQ(ring.central_moments(2)[2].decimal, ring.central_moments(6)[2].decimal);
  const std::vector<Number> few = ring.distribution(1, 12);
  const std::vector<Number> many = ring.distribution(1, 170);
  ASSERT_TRUE(few[11].exact && !many[11].exact);
  for (std::size_t i = 0; i < few.size(); ++i) EXPECT_EQ(few[i].decimal, many[i].decimal);
  EXPECT_GE(many[169].decimal.size(), kFewestDigits);
}

TEST(RingTime, ProductiveRoundsExcludeIdleOnes) {
  // Two stations: every election has one productive round.
  const std::vector<Number> two = RingTime(2, 3).productive_moments();
  EXPECT_EQ(*two[0].exact, Fraction{1});
  EXPECT_EQ(*two[1].exact, Fraction{0});
  // Three stations: one productive round, or two via two stations. p(3,1) / (p(3,1) + p(3,2)) =
  // 3/24 for m = 3.
  const std::vector<Number> three = RingTime(3, 3).productive_moments();
  EXPECT_EQ(*three[0].exact, Fraction(15, 8));
  EXPECT_EQ(*three[1].exact, Fraction(7, 64));
  // A large ring uses enclosures; its mean is slightly below the mean of all rounds.
  const RingTime large(64, 16);
  const std::vector<Number> productive = large.productive_moments();
  EXPECT_FALSE(productive[0].exact);
  EXPECT_LT(productive[0].nearest, large.moments(1)[1].nearest);
  EXPECT_GT(productive[0].nearest, 0.9 * large.moments(1)[1].nearest);
}

TEST(RingTime, StaysBelowTheBoundOfLemmaTwo) {
  for (const std::uint32_t n : {2U, 3U, 5U, 8U})
    for (const std::uint64_t m : {2ULL, 4ULL, 16ULL}) {
      const RingTime ring(n, m);
      const std::vector<Number> numbers = ring.distribution(1, 40);
      for (std::uint32_t k = n; k <= 40; ++k) EXPECT_LE(*numbers[k - 1].exact, ring.bound(k));
    }
}

TEST(RingTime, GrowsLogarithmically) {
  // Doubling the ring adds about ln 2 / ln(2m/(m+1)) rounds.
  const double step = std::log(2.0) / std::log(32.0 / 17.0);
  const double difference =
      RingTime(64, 16).moments(1)[1].nearest - RingTime(32, 16).moments(1)[1].nearest;
  EXPECT_NEAR(difference, step, 0.02);
  EXPECT_NEAR(RingTime(64, 16).growth() - RingTime(32, 16).growth(), step, 1e-12);
}

TEST(RingTime, IsZeroForOneStation) {
  const RingTime ring(1, 4);
  EXPECT_EQ(*ring.distribution(0, 0).front().exact, Fraction{1});
  EXPECT_EQ(*ring.distribution(1, 1).front().exact, Fraction{0});
  EXPECT_EQ(*ring.moments(1)[1].exact, Fraction{0});
}

}  // namespace
}  // namespace tempo::analysis
