// The equitable ring as shipped: compared with the exact analysis, and its properties.
#include "lab/studies/group/ring/equitable.h"

#include <cmath>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

#include "lab/analysis/ring_time.h"

namespace tempo::sim::ring {
namespace {

using tempo::election::ring::Method;

std::uint64_t runs_of(std::uint64_t few) {
  return std::getenv("TEMPO_SOAK") != nullptr ? 100 * few : few;
}

struct Sum {
  double rounds = 0, productive = 0, hops = 0;
  std::uint64_t runs = 0;
  std::vector<std::uint64_t> wins;

  double mean_rounds() const { return rounds / static_cast<double>(runs); }
};

Sum many(EquitableSetup setup, std::uint64_t runs) {
  Sum sum{.runs = runs, .wins = std::vector<std::uint64_t>(setup.stations)};
  for (std::uint64_t i = 0; i < runs; ++i) {
    setup.seed = i + 1;
    const EquitableOutcome outcome = run(setup);
    EXPECT_EQ(outcome.broken, "") << "seed " << setup.seed;
    EXPECT_EQ(outcome.leaders, 1U);
    sum.rounds += outcome.rounds;
    sum.productive += outcome.productive;
    sum.hops += static_cast<double>(outcome.hops);
    if (outcome.leader != kNobody) ++sum.wins[index(outcome.leader)];
  }
  return sum;
}

double z_of(double seen, const analysis::Number& mean, const analysis::Number& variance,
            std::uint64_t runs) {
  if (variance.nearest == 0) return seen == mean.nearest ? 0 : 99;
  return (seen - mean.nearest) / std::sqrt(variance.nearest / static_cast<double>(runs));
}

TEST(EquitableRing, NeedsTheExactMeanNumberOfRounds) {
  for (const std::uint32_t n : {2U, 3U, 5U, 9U, 16U, 33U}) {
    const std::uint32_t m = n % 2 == 0 ? 16 : 3;
    const std::uint64_t runs = runs_of(n < 10 ? 2'000 : 300);
    const Sum sum = many({.stations = n, .range = m}, runs);
    const analysis::RingTime exact(n, m);
    EXPECT_LT(
        std::abs(z_of(sum.mean_rounds(), exact.moments(1)[1], exact.central_moments(2)[2], runs)),
        4)
        << n;
    const std::vector<analysis::Number> productive = exact.productive_moments();
    EXPECT_LT(std::abs(z_of(sum.productive / static_cast<double>(runs), productive[0],
                            productive[1], runs)),
              4)
        << n;
  }
}

TEST(EquitableRing, SingleStationLeads) {
  const EquitableOutcome outcome = run({.stations = 1});
  EXPECT_EQ(outcome.broken, "");
  EXPECT_EQ(outcome.leaders, 1U);
  EXPECT_EQ(outcome.rounds, 0U);
  EXPECT_EQ(outcome.hops, 0U) << "there is no link";
}

TEST(EquitableRing, GivesEveryStationTheSameChance) {
  const std::uint32_t n = 8;
  const std::uint64_t runs = runs_of(4'000);
  const Sum sum = many({.stations = n, .range = 4}, runs);
  double chi_square = 0;
  const double expected = static_cast<double>(runs) / n;
  for (const std::uint64_t wins : sum.wins)
    chi_square += std::pow(static_cast<double>(wins) - expected, 2) / expected;
  EXPECT_LT(chi_square, 24.3) << "0.1 % of 7 degrees of freedom";
}

TEST(EquitableRing, MasksLossDuplicatesAndReordering) {
  const std::uint64_t runs = runs_of(150);
  const Sum sum = many({.stations = 7, .range = 4, .loss = 0.2, .duplicate = 0.1}, runs);
  const analysis::RingTime exact(7, 4);
  EXPECT_LT(
      std::abs(z_of(sum.mean_rounds(), exact.moments(1)[1], exact.central_moments(2)[2], runs)), 4);
}

TEST(EquitableRing, EndsWithOneLeaderAfterCrashes) {
  for (const std::uint32_t crashes : {1U, 2U, 6U}) {
    bool restarted = false;
    for (std::uint64_t seed = 1; seed <= runs_of(60); ++seed) {
      const EquitableOutcome outcome =
          run({.stations = 7, .range = 4, .loss = 0.05, .crashes = crashes, .seed = seed});
      EXPECT_EQ(outcome.broken, "") << "seed " << seed;
      restarted = restarted || outcome.elections > 1;
    }
    EXPECT_TRUE(restarted) << "no election restarted: the crashes came too late to test anything";
  }
}

// A higher election number replaces a known result, because the leader itself may have crashed.
TEST(EquitableRing, ReplacesACrashedLeader) {
  std::uint32_t most = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed)
    most = std::max(most, run({.stations = 2, .range = 2, .crashes = 1, .seed = seed}).elections);
  EXPECT_GE(most, 2U);
}

TEST(EquitableRing, TiesByIdSaveTheIdleRounds) {
  const std::uint64_t runs = runs_of(1'500);
  const Sum equitable = many({.stations = 6, .range = 2}, runs);
  const Sum by_id = many({.stations = 6, .range = 2, .method = Method::ties_by_id}, runs);
  EXPECT_DOUBLE_EQ(by_id.rounds, by_id.productive);
  EXPECT_LT(by_id.mean_rounds(), 0.75 * equitable.mean_rounds());
}

TEST(EquitableRing, HighestIdElectsTheSameStationAgain) {
  std::uint64_t again_highest = 0;
  std::uint64_t elections_highest = 0;
  std::uint64_t again_equitable = 0;
  std::uint64_t elections_equitable = 0;
  for (std::uint64_t seed = 1; seed <= runs_of(1'500); ++seed) {
    const EquitableOutcome highest =
        run({.stations = 8, .method = Method::highest_id, .faulty = 2, .seed = seed});
    EXPECT_EQ(highest.leader, NodeId{7});
    elections_highest += highest.faulty_first ? 1 : 0;
    again_highest += highest.faulty_again ? 1 : 0;
    const EquitableOutcome equitable = run({.stations = 8, .faulty = 2, .seed = seed});
    elections_equitable += equitable.faulty_first ? 1 : 0;
    again_equitable += equitable.faulty_again ? 1 : 0;
  }
  EXPECT_EQ(again_highest, elections_highest);
  ASSERT_GT(elections_equitable, 300U);
  // Two of eight stations are faulty: a quarter, within four standard deviations.
  const double share =
      static_cast<double>(again_equitable) / static_cast<double>(elections_equitable);
  EXPECT_NEAR(share, 0.25, 4 * std::sqrt(0.1875 / static_cast<double>(elections_equitable)));
}

// Chang and Roberts: n log n messages on average; every election costs a last round of n.
TEST(EquitableRing, ChangAndRobertsIsCheapOnARandomRing) {
  const EquitableOutcome outcome = run({.stations = 16, .method = Method::highest_id});
  EXPECT_EQ(outcome.broken, "");
  EXPECT_EQ(outcome.leader, NodeId{15});
  // Numbers in rising order: each id makes one hop to a higher one, the highest a whole round.
  EXPECT_EQ(outcome.hops, 15U + 16U);
}

TEST(EquitableRing, IsDeterministic) {
  const EquitableSetup setup{.stations = 9, .loss = 0.1, .crashes = 2, .seed = 7};
  EXPECT_EQ(run(setup).hash, run(setup).hash);
  EquitableSetup other = setup;
  other.seed = 8;
  EXPECT_NE(run(setup).hash, run(other).hash);
}

TEST(EquitableRing, TracesOnRequest) {
  Trace trace(true);
  const EquitableOutcome outcome = run({.stations = 3}, &trace);
  std::uint64_t sent = 0;
  for (const Happening& happening : trace.happenings()) sent += happening.what == What::sent;
  EXPECT_EQ(sent, outcome.hops + outcome.announcement_hops);
}

}  // namespace
}  // namespace tempo::sim::ring
