// The Monte Carlo code, compared with the exact mathematics, with another instruction set and with
// a plain loop.
#include <cmath>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "lab/analysis/algorithm_c.h"
#include "lab/analysis/anonymous_ring.h"
#include "lab/analysis/chain_samples.h"
#include "lab/analysis/equitable.h"
#include "lab/analysis/lanes.h"
#include "lab/analysis/ring_time.h"

namespace tempo::monte_carlo {
namespace {

std::uint32_t blocks_of(std::uint32_t few) {
  return std::getenv("TEMPO_SOAK") != nullptr ? 100 * few : few;
}

EquitableCounts drawn(const Equitable& ring, std::uint32_t blocks, Width width = Width::best) {
  EquitableCounts sum;
  for (std::uint32_t block = 0; block < blocks; ++block)
    sum += run_block(ring, 1, block, kBlock, width);
  return sum;
}

double mean_of(const std::vector<std::uint64_t>& counts) {
  double sum = 0;
  double all = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    sum += static_cast<double>(i * counts[i]);
    all += static_cast<double>(counts[i]);
  }
  return sum / all;
}
double z_of(double seen, double mean, double variance, std::uint64_t count) {
  if (variance == 0) return seen == mean ? 0 : 99;
  return (seen - mean) / std::sqrt(variance / static_cast<double>(count));
}

TEST(EquitableMonteCarlo, AgreesWithTheExactMoments) {
  // The exact computation for large rings is slow.
  const bool soak = std::getenv("TEMPO_SOAK") != nullptr;
  for (const auto& [n, m] : {std::pair{2U, 2U},
                             {3U, 3U},
                             {5U, 16U},
                             {17U, 5U},
                             {64U, 16U},
                             {65U, 7U},
                             {100U, 2U},
                             {128U, 16U}}) {
    if (n > 65 && !soak) continue;
    const EquitableCounts counts = drawn({.stations = n, .range = m}, blocks_of(2));
    const analysis::RingTime exact(n, m);
    EXPECT_LT(std::abs(z_of(mean_of(counts.rounds), exact.moments(1)[1].nearest,
                            exact.central_moments(2)[2].nearest, counts.elections)),
              4)
        << n << " stations, range " << m;
    const std::vector<analysis::Number> productive = exact.productive_moments();
    EXPECT_LT(std::abs(z_of(mean_of(counts.productive), productive[0].nearest,
                            productive[1].nearest, counts.elections)),
              4)
        << n << " stations, range " << m;
  }
}

TEST(EquitableMonteCarlo, HasTheExactDistribution) {
  const EquitableCounts counts = drawn({.stations = 9, .range = 4}, blocks_of(10));
  const std::vector<analysis::Number> exact = analysis::RingTime(9, 4).distribution(1, 12);
  const auto all = static_cast<double>(counts.elections);
  for (std::size_t k = 1; k < std::min<std::size_t>(counts.rounds.size(), 13); ++k) {
    const double p = exact[k - 1].nearest;
    EXPECT_LT(std::abs(static_cast<double>(counts.rounds[k]) - all * p),
              4 * std::sqrt(all * p * (1 - p)) + 1)
        << k;
  }
}

// The AVX2 kernel gives exactly the results of the plain kernel. The test needs AVX2.
TEST(EquitableMonteCarlo, IsTheSameWithEveryInstructionSet) {
  if (!available(Width::avx2)) GTEST_SKIP() << "this machine has no AVX2";
  for (const auto& [n, m] : {std::pair{2U, 2U}, {7U, 4U}, {64U, 16U}, {63U, 65'536U}, {33U, 2U}})
    for (const std::uint32_t elections : {1U, 3U, 4'095U, kBlock}) {
      const Equitable ring{.stations = n, .range = m};
      EXPECT_EQ(run_block(ring, 9, 3, elections, Width::plain),
                run_block(ring, 9, 3, elections, Width::avx2))
          << n << " stations, range " << m;
    }
}

TEST(EquitableMonteCarlo, CountingWinnersDoesNotChangeTheElections) {
  Equitable ring{.stations = 70, .range = 3};
  const EquitableCounts without = run_block(ring, 5, 0, kBlock);
  ring.winners = true;
  EquitableCounts with = run_block(ring, 5, 0, kBlock);
  EXPECT_EQ(with.rounds, without.rounds);
  std::uint64_t wins = 0;
  for (const std::uint64_t count : with.wins) wins += count;
  EXPECT_EQ(wins, kBlock);
}

TEST(EquitableMonteCarlo, IsFairToEveryStation) {
  const std::uint32_t n = 16;
  const EquitableCounts counts = drawn({.stations = n, .range = 4, .winners = true}, blocks_of(4));
  const double expected = static_cast<double>(counts.elections) / n;
  double chi_square = 0;
  for (const std::uint64_t wins : counts.wins)
    chi_square += std::pow(static_cast<double>(wins) - expected, 2) / expected;
  EXPECT_LT(chi_square, 37.7) << "0.1 % quantile, 15 degrees of freedom";
}

// The winner that is traced back is the winner of a plain loop over the stations.
TEST(EquitableMonteCarlo, TracesBackTheRightWinner) {
  for (const std::uint32_t n : {5U, 70U}) {
    const std::uint32_t m = 8;
    std::vector<std::uint64_t> wins(n);
    Lanes lanes = lanes_of(3, Cause::equitable, 2);
    for (std::uint32_t i = 0; i < 200; ++i) {
      std::vector<std::uint32_t> stations(n);
      for (std::uint32_t s = 0; s < n; ++s) stations[s] = s;
      while (stations.size() > 1) {
        const std::size_t words = (stations.size() + 63) / 64;
        std::vector<std::uint32_t> priority(stations.size());
        for (std::uint32_t bit = 0; bit < 3; ++bit)
          for (std::size_t w = 0; w < words; ++w) {
            const std::uint64_t random = lanes[i % kLanes].next();
            for (std::size_t s = w * 64; s < std::min(stations.size(), (w + 1) * 64); ++s)
              priority[s] |= static_cast<std::uint32_t>(random >> (s % 64) & 1) << bit;
          }
        std::vector<std::uint32_t> left;
        for (std::size_t s = 0; s < stations.size(); ++s)
          if (priority[s] <= priority[(s + stations.size() - 1) % stations.size()])
            left.push_back(stations[s]);
        stations = left;
      }
      ++wins[stations[0]];
    }
    EXPECT_EQ(run_block({.stations = n, .range = m, .winners = true}, 3, 2, 200).wins, wins);
  }
}

TEST(EquitableMonteCarlo, BlocksAreIndependent) {
  const Equitable ring{.stations = 9, .range = 4};
  EXPECT_NE(run_block(ring, 1, 0, kBlock), run_block(ring, 1, 1, kBlock));
  EXPECT_NE(run_block(ring, 1, 0, kBlock), run_block(ring, 2, 0, kBlock));
  EXPECT_EQ(run_block(ring, 1, 7, kBlock), run_block(ring, 1, 7, kBlock));
  EXPECT_EQ(run_block(ring, 1, 7, 0).elections, 0U);
}

TEST(AnonymousMonteCarlo, AgreesWithTheExactValues) {
  for (const std::uint32_t stages : {1U, 2U, 4U, 7U})
    for (const std::uint32_t candidates : {2U, 3U}) {
      AnonymousCounts sum;
      for (std::uint32_t block = 0; block < blocks_of(4); ++block)
        sum += run_block(Anonymous{.stations = 6, .stages = stages, .candidates = candidates}, 1,
                         block, kBlock);
      const double exact = analysis::all_elected(candidates, stages).nearest();
      const double seen = sum.first_leaders.size() > candidates
                              ? static_cast<double>(sum.first_leaders[candidates]) /
                                    static_cast<double>(sum.elections)
                              : 0;
      EXPECT_LT(std::abs(z_of(seen, exact, exact * (1 - exact), sum.elections)), 4)
          << stages << " stages: " << seen << " for " << exact;
    }
  // With many stages two leaders are rare, and the phases are geometric.
  AnonymousCounts sum;
  for (std::uint32_t block = 0; block < blocks_of(4); ++block)
    sum += run_block(Anonymous{.stations = 5, .stages = 100}, 1, block, kBlock);
  const double mean = analysis::mean_phases(5).nearest();
  EXPECT_LT(std::abs(z_of(mean_of(sum.phases), mean, mean * (mean - 1), sum.elections)), 4);
  EXPECT_EQ(sum.leaders[1], sum.elections);
}

TEST(AlgorithmCMonteCarlo, AgreesWithTheExactMean) {
  for (const std::uint32_t candidates : {1U, 2U, 5U, 12U}) {
    RoundCounts sum;
    for (std::uint32_t block = 0; block < blocks_of(4); ++block)
      sum += run_block(Candidates{.candidates = candidates, .loss = 0.3}, 1, block, kBlock);
    const double exact =
        analysis::AlgorithmC(candidates, {3, 10}).mean_rounds(candidates).nearest();
    double square = 0;
    for (std::size_t i = 0; i < sum.rounds.size(); ++i)
      square += std::pow(static_cast<double>(i) - exact, 2) * static_cast<double>(sum.rounds[i]);
    EXPECT_LT(std::abs(z_of(mean_of(sum.rounds), exact, square / static_cast<double>(sum.elections),
                            sum.elections)),
              4)
        << candidates;
  }
}

}  // namespace
}  // namespace tempo::monte_carlo
