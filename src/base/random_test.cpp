#include "base/random.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// A second implementation of Philox 4x32-10, from Salmon et al. (2011), section 3.3, so that the
// library used by Stream is checked too.
using Words = std::array<std::uint32_t, 4>;

Words philox(Words counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(first)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

Words next_words(Stream& stream) {
  const std::uint64_t low = stream.next();
  const std::uint64_t high = stream.next();
  return {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
          static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)};
}

// The vectors published with Random123 (kat_vectors, philox4x32 10): zeros, ones, digits of pi.
TEST(Philox, TestImplementationMatchesThePublishedVectors) {
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_THAT(philox({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(Stream, StartsWithThePublishedVectorForZeros) {
  Stream stream(0, 0, 0);
  EXPECT_THAT(next_words(stream), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
}

// The counter's words are {block low, block high, node, cause}, the key's are {seed low, seed
// high}.
TEST(Stream, EncryptsBlockNodeAndCauseUnderTheSeed) {
  for (const std::uint64_t seed :
       {0x0123456789abcdefULL, 0xffffffffffffffffULL, 0x299f31d0a4093822ULL}) {
    for (const std::uint32_t cause : {0U, 0x03707344U, 0xffffffffU}) {
      for (const std::uint32_t node : {1U, 0x13198a2eU, 0xffffffffU}) {
        Stream stream(seed, cause, node);
        for (std::uint32_t block = 0; block < 5; ++block)
          EXPECT_EQ(next_words(stream),
                    philox({block, 0, node, cause}, {static_cast<std::uint32_t>(seed),
                                                     static_cast<std::uint32_t>(seed >> 32)}));
      }
    }
  }
}

std::vector<std::uint64_t> first_numbers(Stream stream, std::size_t count) {
  std::vector<std::uint64_t> numbers(count);
  for (auto& number : numbers) number = stream.next();
  return numbers;
}

TEST(Stream, IsIndependentOfOtherStreams) {
  const auto alone = first_numbers(Stream(5, 1, 1), 100);
  Stream stream(5, 1, 1);
  Stream other_cause(5, 2, 1);
  Stream other_node(5, 1, 2);
  std::vector<std::uint64_t> among;
  for (std::size_t i = 0; i < alone.size(); ++i) {
    other_cause.next();
    among.push_back(stream.next());
    if (i % 3 == 0) other_node.next();
  }
  EXPECT_EQ(among, alone);
}

// Streams whose identifiers differ slightly share no number: a collision among 12 x 500 numbers has
// a probability of 1e-12. The bits of two streams agree half of the time: 500 x 64 fair coins have
// a standard deviation of 89; the limit is five of those.
TEST(Stream, DoesNotCorrelateWithSimilarStreams) {
  std::vector<Stream> streams;
  for (const std::uint64_t seed : {1ULL, 2ULL, 1ULL << 32})
    for (const std::uint32_t cause : {1U, 2U})
      for (const std::uint32_t node : {1U, 2U}) streams.emplace_back(seed, cause, node);
  std::set<std::uint64_t> all;
  std::vector<std::vector<std::uint64_t>> rows;
  for (const Stream& stream : streams) {
    rows.push_back(first_numbers(stream, 500));
    all.insert(rows.back().begin(), rows.back().end());
  }
  EXPECT_EQ(all.size(), streams.size() * 500);
  for (std::size_t a = 0; a < rows.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      int agreeing = 0;
      for (std::size_t i = 0; i < 500; ++i) agreeing += 64 - std::popcount(rows[a][i] ^ rows[b][i]);
      EXPECT_NEAR(agreeing, 500 * 32, 5 * 89) << a << " and " << b;
    }
  }
}

// Pearson's statistic for equally likely cells.
double chi_square(const std::vector<int>& counts) {
  double total = 0;
  for (const int count : counts) total += count;
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (const int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

TEST(Below, IsUniform) {
  Stream stream(17, 3, 4);
  std::vector<int> counts(10);
  for (int i = 0; i < 100'000; ++i) ++counts[stream.below(10)];
  // Nine degrees of freedom: a fair die exceeds 27.9 once in a thousand seeds, and this seed is
  // fixed.
  EXPECT_LT(chi_square(counts), 27.9);
}

// With a limit of three quarters of the range, omitting the second draw would give every third
// value twice the weight of the others: the statistic would be near 6000.
TEST(Below, DrawsAgainToAvoidBias) {
  Stream stream(17, 3, 5);
  std::vector<int> counts(3);
  for (int i = 0; i < 50'000; ++i) ++counts[stream.below(3ULL << 62) % 3];
  EXPECT_LT(chi_square(counts), 13.8);  // two degrees of freedom, once in a thousand seeds
}

TEST(Below, StaysBelowTheLimit) {
  Stream stream(17, 3, 6);
  for (const std::uint64_t limit : {1ULL, 2ULL, 3ULL, 1000ULL, (1ULL << 63) + 1, ~0ULL})
    for (int i = 0; i < 200; ++i) EXPECT_LT(stream.below(limit), limit);
}

TEST(Below, LimitOneGivesZeroAndStillDraws) {
  Stream stream(17, 3, 7);
  Stream same(17, 3, 7);
  EXPECT_EQ(stream.below(1), 0U);
  same.next();
  EXPECT_EQ(stream.next(), same.next());
}

TEST(BelowDeathTest, RefusesLimitZero) {
  Stream stream(1, 1, 1);
  EXPECT_DEATH(stream.below(0), "limit > 0");
}

TEST(Chance, ProbabilityZeroAndOneStillDraw) {
  Stream stream(9, 1, 1);
  Stream same(9, 1, 1);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(stream.chance(0));
    EXPECT_TRUE(stream.chance(1));
    same.next();
    same.next();
  }
  EXPECT_EQ(stream.next(), same.next());
}

TEST(Chance, MatchesItsProbability) {
  Stream stream(9, 1, 2);
  int happened = 0;
  for (int i = 0; i < 40'000; ++i) happened += stream.chance(0.1) ? 1 : 0;
  EXPECT_NEAR(happened, 4000, 4 * 60);  // the standard deviation is sqrt(40000 * 0.1 * 0.9) = 60
}

struct Moments {
  double mean;
  double variance;
};

constexpr int kSamples = 100'000;

template <class Sample>
Moments moments(Sample sample) {
  std::vector<double> values(kSamples);
  double sum = 0;
  for (double& value : values) sum += value = sample();
  const double mean = sum / kSamples;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, squares / (kSamples - 1)};
}

// Four standard errors around the theory. The mean's is sqrt(variance / n), the variance's is
// variance * sqrt((kurtosis - 1) / n).
void expect_moments(const Moments& seen, double mean, double variance, double kurtosis) {
  EXPECT_NEAR(seen.mean, mean, 4 * std::sqrt(variance / kSamples));
  EXPECT_NEAR(seen.variance, variance, 4 * variance * std::sqrt((kurtosis - 1) / kSamples));
}

TEST(Distributions, UnitIsUniform) {
  Stream stream(23, 1, 1);
  double lowest = 1;
  double highest = 0;
  const Moments seen = moments([&] {
    const double value = stream.unit();
    lowest = std::min(lowest, value);
    highest = std::max(highest, value);
    return value;
  });
  expect_moments(seen, 0.5, 1.0 / 12, 9.0 / 5);
  EXPECT_GE(lowest, 0);
  EXPECT_LT(highest, 1);
}

TEST(Distributions, UniformDurationsIncludeBothEnds) {
  Stream stream(23, 1, 2);
  std::set<Nanos> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(stream.uniform(-2ns, 2ns));
  EXPECT_THAT(seen, ElementsAre(-2ns, -1ns, 0ns, 1ns, 2ns));
}

TEST(Distributions, Exponential) {
  Stream stream(23, 1, 3);
  expect_moments(moments([&] { return stream.exponential(3.0); }), 3.0, 9.0, 9.0);
}

TEST(Distributions, Normal) {
  Stream stream(23, 1, 4);
  expect_moments(moments([&] { return stream.normal(10.0, 2.0); }), 10.0, 4.0, 3.0);
}

// Kurtosis of a Pareto with alpha 5: 3 + 6 (a^3 + a^2 - 6 a - 2) / (a (a - 3) (a - 4)) = 73.8.
TEST(Distributions, Pareto) {
  Stream stream(23, 1, 5);
  expect_moments(moments([&] { return stream.pareto(2.0, 5.0); }), 2.5, 4.0 * 5 / (16 * 3), 73.8);
}

TEST(Distributions, ParetoHasTheRightTail) {
  Stream stream(23, 1, 6);
  int beyond = 0;
  for (int i = 0; i < 40'000; ++i) {
    const double value = stream.pareto(1.0, 2.0);
    ASSERT_GE(value, 1.0);
    beyond += value > 10.0 ? 1 : 0;  // with probability 10^-2
  }
  EXPECT_NEAR(beyond, 400, 4 * 20);
}

TEST(Distributions, ChoiceReachesEveryElement) {
  Stream stream(23, 1, 7);
  std::array<int, 3> taken{0, 0, 0};
  for (int i = 0; i < 300; ++i) ++stream.choice(std::span<int>{taken});
  EXPECT_THAT(taken, Each(::testing::Gt(60)));
}

TEST(StreamDraw, DrawsFromItsStream) {
  Stream stream(31, 1, 1);
  Stream same(31, 1, 1);
  StreamDraw draw{stream};
  for (int i = 0; i < 20; ++i) EXPECT_EQ(draw.below(1000), same.below(1000));
}

TEST(StreamDraw, DrawsDurationsIncludingBothEnds) {
  Stream stream(31, 1, 2);
  StreamDraw draw{stream};
  std::set<Nanos> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(draw.between(5ns, 8ns));
  EXPECT_THAT(seen, ElementsAre(5ns, 6ns, 7ns, 8ns));
  EXPECT_EQ(draw.between(7s, 7s), 7s);
}

// The reference is the C library, which is accurate to one unit in the last place. The arguments
// cover all magnitudes and are dense around 1, where a logarithm is difficult.
TEST(ExactLog, AgreesWithTheLibrary) {
  Stream stream(41, 1, 1);
  const auto expect_close = [](double x) {
    const double expected = std::log(x);
    EXPECT_NEAR(exact_log(x), expected, 2e-15 * std::abs(expected)) << x;
  };
  for (int i = 0; i < 50'000; ++i) {
    const double mantissa = 1 + stream.unit();
    expect_close(std::ldexp(mantissa, static_cast<int>(stream.below(2046)) - 1022));
    const double distance = std::ldexp(mantissa, -static_cast<int>(stream.below(52)) - 2);
    expect_close(1 + distance);
    expect_close(1 - distance);
  }
  expect_close(std::numeric_limits<double>::max());
  expect_close(std::numeric_limits<double>::min());
  expect_close(std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(exact_log(1), 0);
}

TEST(ExactExp, AgreesWithTheLibrary) {
  Stream stream(41, 1, 2);
  const auto expect_close = [](double x) {
    const double expected = std::exp(x);
    EXPECT_NEAR(exact_exp(x), expected, 2e-15 * expected) << x;
  };
  for (int i = 0; i < 50'000; ++i) {
    expect_close(-708 + 1417 * stream.unit());
    expect_close(std::ldexp(1 - 2 * stream.unit(), -static_cast<int>(stream.below(60))));
  }
  EXPECT_EQ(exact_exp(0), 1);
  EXPECT_EQ(exact_exp(-746), 0);
  EXPECT_EQ(exact_exp(710), std::numeric_limits<double>::infinity());
}

TEST(ExactLogDeathTest, RefusesZeroAndNegativeArguments) {
  EXPECT_DEATH(exact_log(0), "x > 0");
  EXPECT_DEATH(exact_log(-1), "x > 0");
}

// The true values, computed with 200 bits and rounded once. The algorithm does not guarantee the
// last bit for every argument, but it must return the same bits on every machine and in every
// version.
TEST(ExactLog, ReturnsTheseBits) {
  EXPECT_EQ(exact_log(2.0), 0x1.62e42fefa39efp-1);
  EXPECT_EQ(exact_log(10.0), 0x1.26bb1bbb55516p+1);
  EXPECT_EQ(exact_log(0.1), -0x1.26bb1bbb55515p+1);
  EXPECT_EQ(exact_log(0.75), -0x1.269621134db92p-2);
  EXPECT_EQ(exact_log(1e-300), -0x1.5963447f87fb5p+9);
  EXPECT_EQ(exact_log(0x1p-1074), -0x1.74385446d71c3p+9);
}

TEST(ExactExp, ReturnsTheseBits) {
  EXPECT_EQ(exact_exp(-1.0), 0x1.78b56362cef38p-2);
  EXPECT_EQ(exact_exp(0.5), 0x1.a61298e1e069cp+0);
  EXPECT_EQ(exact_exp(10.0), 0x1.5829dcf950560p+14);
  EXPECT_EQ(exact_exp(700.0), 0x1.d945df4f8ec8ep+1009);
  EXPECT_EQ(exact_exp(-700.0), 0x1.14f2b0fb9307fp-1010);
  EXPECT_EQ(exact_exp(-745.0), 0x1p-1074);
}

// A digest of ten thousand results (FNV-1a over 64-bit words). The expected values come from a
// second implementation in another language. If one changes, every recorded seed has changed its
// meaning.
class Digest {
 public:
  void add(double value) {
    state_ = (state_ ^ std::bit_cast<std::uint64_t>(value)) * 0x100000001b3;
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325;
};

TEST(ExactLog, IsTheSameOnEveryMachine) {
  Stream stream(2011, 1, 2);
  Digest digest;
  for (int i = 0; i < 10'000; ++i) {
    const double mantissa = stream.unit();
    digest.add(exact_log(std::ldexp(mantissa, static_cast<int>(stream.next() & 1023) - 512)));
  }
  EXPECT_EQ(digest.value(), 0x394ef93dec2a7067U);
}

TEST(ExactExp, IsTheSameOnEveryMachine) {
  Stream stream(2011, 1, 3);
  Digest digest;
  for (int i = 0; i < 10'000; ++i) digest.add(exact_exp((stream.unit() - 0.5) * 1400));
  EXPECT_EQ(digest.value(), 0x2d40407bcd708d10U);
}

TEST(Distributions, AreTheSameOnEveryMachine) {
  Stream numbers(7, 8, 9);
  Stream exponentials = numbers;
  Stream normals = numbers;
  Stream paretos = numbers;
  std::array<std::uint64_t, 8> below{};
  for (auto& number : below) number = numbers.below(1000);
  EXPECT_THAT(below, ElementsAre(929, 692, 271, 677, 875, 73, 318, 384));
  EXPECT_EQ(exponentials.exponential(3.0), 0x1.fd386dcf1a28cp+2);
  EXPECT_EQ(exponentials.exponential(3.0), 0x1.c4fdcb83436d3p+1);
  EXPECT_EQ(normals.normal(10.0, 2.0), 0x1.5cb10dee2911dp+3);
  EXPECT_EQ(normals.normal(10.0, 2.0), 0x1.ea6a7a548013bp+2);
  EXPECT_EQ(paretos.pareto(1.0, 2.5), 0x1.71c77b9560218p+1);
  EXPECT_EQ(paretos.pareto(1.0, 2.5), 0x1.9a5d118f9d2a9p+0);
}

}  // namespace
}  // namespace tempo
