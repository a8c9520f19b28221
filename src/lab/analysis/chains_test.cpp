// Every count of chains, compared with the golden file and with explicit enumeration.
#include "lab/analysis/chains.h"

#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "lab/analysis/golden_test_file.h"

namespace tempo::analysis {
namespace {

struct Counted {
  std::map<std::uint32_t, std::int64_t> linear_increasing, linear_nondecreasing,
      circular_increasing, circular_nondecreasing;
  std::map<std::vector<std::uint32_t>, std::map<std::uint32_t, std::int64_t>> by_multiset;
};

// Enumerates all m^n assignments.
Counted count(std::uint32_t n, std::uint32_t m) {
  Counted counted;
  std::vector<std::uint32_t> drawn(n, 0);
  for (bool more = true; more;) {
    std::uint32_t descents = 0;     // in a line, strict
    std::uint32_t non_ascents = 0;  // in a line, descents and equal neighbours
    for (std::uint32_t i = 0; i + 1 < n; ++i) {
      descents += drawn[i] > drawn[i + 1] ? 1U : 0U;
      non_ascents += drawn[i] >= drawn[i + 1] ? 1U : 0U;
    }
    ++counted.linear_nondecreasing[descents + 1];
    ++counted.linear_increasing[non_ascents + 1];
    ++counted.circular_increasing[non_ascents + (drawn[n - 1] >= drawn[0] ? 1U : 0U)];
    ++counted.circular_nondecreasing[descents + (drawn[n - 1] > drawn[0] ? 1U : 0U)];
    std::vector<std::uint32_t> multiset(m, 0);
    for (const std::uint32_t priority : drawn) ++multiset[priority];
    ++counted.by_multiset[multiset][descents + 1];
    more = false;
    for (std::uint32_t i = 0; i < n && !more; ++i) {
      drawn[i] = (drawn[i] + 1) % m;
      more = drawn[i] != 0;
    }
  }
  return counted;
}

TEST(Chains, AgreeWithEnumeration) {
  for (std::uint32_t n = 1; n <= 6; ++n)
    for (std::uint32_t m = 1; m <= 4; ++m) {
      Counted counted = count(n, m);
      const std::vector<Whole> increasing = circular_increasing(n, m);
      const std::vector<Whole> nondecreasing = circular_nondecreasing(n, m);
      for (std::uint32_t k = 0; k <= n; ++k) {
        SCOPED_TRACE(testing::Message() << "n " << n << " m " << m << " k " << k);
        EXPECT_EQ(linear_nondecreasing(n, m, k), Whole{counted.linear_nondecreasing[k]});
        EXPECT_EQ(linear_increasing(n, m, k), Whole{counted.linear_increasing[k]});
        EXPECT_EQ(increasing[k], Whole{counted.circular_increasing[k]});
        EXPECT_EQ(nondecreasing[k], Whole{counted.circular_nondecreasing[k]});
        for (auto& [multiset, chains] : counted.by_multiset)
          EXPECT_EQ(linear_nondecreasing(multiset, k), Whole{chains[k]});
      }
    }
}

TEST(Chains, AgreeWithTheGoldenValues) {
  int compared = 0;
  for (const Json& row : golden(TEMPO_TESTDATA "/ring_chain_counts.json").elements()) {
    const auto n = static_cast<std::uint32_t>(row.count_at("n").value());
    const auto m = row.count_at("m").value();
    const auto k = static_cast<std::uint32_t>(row.count_at("k").value());
    EXPECT_EQ(linear_nondecreasing(n, m, k).text(), row.text_at("Ltilde").value());
    EXPECT_EQ(linear_increasing(n, m, k).text(), row.text_at("L").value());
    if (const auto circular = row.text_at("R")) {
      EXPECT_EQ(circular_increasing(n, m)[k].text(), *circular);
    }
    ++compared;
  }
  EXPECT_GE(compared, 40);
}

// Theorem 2 as printed.
TEST(Chains, CircularFollowFromLinear) {
  for (const std::uint32_t n : {2U, 9U, 20U})
    for (const std::uint64_t m : {2ULL, 16ULL, 1000ULL}) {
      const std::vector<Whole> row = circular_increasing(n, m);
      for (std::uint32_t k = 1; k <= n; ++k) {
        Fraction sum = 0;
        for (std::uint32_t j = 1; j <= k; ++j) {
          const Fraction term{linear_increasing(n, m, k - j + 1), Whole::binomial(n - 1, k - j)};
          if (j % 2 == 1)
            sum += term;
          else
            sum -= term;
        }
        EXPECT_EQ(sum * Fraction{Whole::binomial(n, k)}, Fraction{row[k]});
      }
    }
}

TEST(Chains, Of256StationsSumToAllAssignments) {
  const std::vector<Whole> row = circular_increasing(256, 16);
  Whole sum;
  for (const Whole& count : row) {
    EXPECT_FALSE(count.negative());
    sum += count;
  }
  EXPECT_EQ(sum, Whole::power(16, 256));
  EXPECT_EQ(row[256], Whole{16});  // all priorities are equal
  EXPECT_EQ(row[1], Whole{0});     // no chain is longer than the range
  EXPECT_GT(row[16], Whole{0});    // sixteen chains of sixteen
  EXPECT_EQ(row[15], Whole{0});
}

}  // namespace
}  // namespace tempo::analysis
