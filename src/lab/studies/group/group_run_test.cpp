#include "lab/studies/group/group_run.h"

#include <array>
#include <cstdlib>

#include <gtest/gtest.h>

namespace tempo::sim::groups {
namespace {

using tempo::groups::Algorithm;

// Number of seeds; `make soak` runs more.
std::uint64_t seeds(std::uint64_t few) {
  const char* more = std::getenv("TEMPO_SOAK");
  return more == nullptr ? few : 20 * few;
}

Outcome all_of(Setup setup, std::uint64_t count) {
  Outcome sum;
  for (setup.seed = 1; setup.seed <= count; ++setup.seed) {
    const Outcome one = run(setup);
    EXPECT_TRUE(one.kept()) << "seed " << setup.seed << ": together " << one.together
                            << " disorder " << one.disorder << " hasty " << one.hasty
                            << " needless " << one.needless << " leaderless " << one.leaderless
                            << " outdone " << one.outdone
                            << (one.broken == nullptr ? "" : one.broken);
    sum.reigns += one.reigns;
    sum.as_wanted += one.as_wanted;
    sum.longest_gap = std::max(sum.longest_gap, one.longest_gap);
  }
  return sum;
}

TEST(Group, KeepsOneLeaderWithoutFaults) {
  for (const Algorithm algorithm : {Algorithm::a, Algorithm::b1, Algorithm::c, Algorithm::ring}) {
    const Outcome outcome = all_of({.algorithm = algorithm}, seeds(5));
    EXPECT_EQ(outcome.reigns, seeds(5)) << name_of(algorithm);
    EXPECT_EQ(outcome.as_wanted, seeds(5)) << name_of(algorithm);
    EXPECT_LT(outcome.longest_gap, 200ms);
  }
}

// On an anonymous ring an election may take several phases, longer than any host waits. The known
// capacities then decide.
TEST(Group, KeepsOneLeaderOnAnAnonymousRing) {
  const Outcome outcome = all_of({.algorithm = Algorithm::ring_anonymous}, seeds(40));
  EXPECT_EQ(outcome.reigns, seeds(40));
  EXPECT_GE(outcome.as_wanted, seeds(40) * 3 / 4);
  EXPECT_LT(outcome.longest_gap, 300ms);
}

// Chi-square with two degrees of freedom exceeds 18.4 with probability 1/10000.
TEST(Group, ARingGivesAllTheSameChance) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::ring_anonymous}) {
    constexpr std::uint64_t kRuns = 300;
    std::array<double, 3> wins{};
    for (std::uint64_t seed = 1; seed <= kRuns; ++seed)
      ++wins.at(run({.algorithm = algorithm, .faulty = 500ms, .seed = seed}).first);
    double chi_square = 0;
    for (const double won : wins) chi_square += (won - 100) * (won - 100) / 100;
    EXPECT_LT(chi_square, 18.4) << name_of(algorithm);
  }
}

// The capacity of every candidate changes ten times in each min_stay.
TEST(Group, FlappingCapacitiesDoNotViolateMinStay) {
  const groups::Setup setup{.faults = {.flaps_per_s = 75}};
  const Outcome outcome = all_of(setup, seeds(20));
  const auto stays = static_cast<std::uint64_t>(
      (setup.faulty + 60 * setup.lease + 4 * setup.min_stay) / setup.min_stay);
  EXPECT_GT(outcome.reigns, 2 * seeds(20)) << "it moves, though";
  EXPECT_LE(outcome.reigns, (stays + 1) * seeds(20));
}

TEST(Group, ContinuesAfterResignations) {
  const Outcome outcome = all_of({.faults = {.resigns_per_s = 1}}, seeds(10));
  EXPECT_GT(outcome.reigns, 5 * seeds(10));
}

// The hosts notice a dead leader after one lease; then they hold an election, and the old lease
// must end first.
TEST(Group, ReplacesACrashedLeaderSoon) {
  for (const Algorithm algorithm :
       {Algorithm::a, Algorithm::b1, Algorithm::c, Algorithm::ring, Algorithm::ring_anonymous}) {
    const groups::Setup setup{.hosts = 5, .algorithm = algorithm, .faults = {.crashes_per_s = 1}};
    const Outcome outcome = all_of(setup, seeds(10));
    EXPECT_GT(outcome.reigns, 2 * seeds(10));
    EXPECT_LT(outcome.longest_gap, 12 * setup.lease) << name_of(algorithm);
  }
}

TEST(Group, WorksWithoutTrustedTime) {
  all_of({.clock_error = 10s, .trusted = false, .faults = {.loss = 0.1, .crashes_per_s = 1}},
         seeds(10));
  // Network time that is trusted but wrong costs elections, nothing else.
  all_of({.clock_error = 100ms, .faults = {.loss = 0.1, .crashes_per_s = 1}}, seeds(10));
}

TEST(Group, ToleratesAllFaults) {
  for (const Algorithm algorithm : {Algorithm::b1, Algorithm::ring, Algorithm::ring_anonymous}) {
    const std::uint64_t count = seeds(algorithm == Algorithm::b1 ? 10 : 3);
    const Outcome outcome = all_of({.hosts = 5,
                                    .algorithm = algorithm,
                                    .faults = {.loss = 0.2,
                                               .duplicate = 0.1,
                                               .late = 0.05,
                                               .crashes_per_s = 2,
                                               .pauses_per_s = 2,
                                               .partitions_per_s = 1,
                                               .resigns_per_s = 0.5,
                                               .flaps_per_s = 5}},
                                   count);
    EXPECT_GT(outcome.reigns, 10 * count) << name_of(algorithm);
  }
}

}  // namespace
}  // namespace tempo::sim::groups
