// King, Gendreau, Ni 1988, sections 4 to 6: the properties of each algorithm, and their limits.
#include "lab/studies/group/capacity_run.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

namespace tempo::sim::capacity {
namespace {

using tempo::election::capacity::Variant;
using Case = Setup;  // `Setup` is a member of every test fixture

struct Sum {
  std::uint64_t runs = 0, unique = 0, disagree = 0, no_master = 0, several = 0, help = 0,
                reelections = 0;
  std::uint64_t most_broadcasts = 0, fewest_broadcasts = ~std::uint64_t{0};
  Nanos longest{0};

  double share(std::uint64_t of) const {
    return static_cast<double>(of) / static_cast<double>(runs);
  }
};

Sum many(Case setup, std::uint64_t runs) {
  if (std::getenv("TEMPO_SOAK") != nullptr) runs *= 100;
  Sum sum{.runs = runs};
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    setup.seed = seed;
    const Outcome one = run(setup);
    sum.unique += one.unique;
    sum.disagree += one.disagree;
    sum.no_master += one.masters == 0;
    sum.several += one.masters > 1;
    sum.help += one.help > 0;
    sum.reelections += one.reelections;
    sum.longest = std::max(sum.longest, one.time);
    sum.most_broadcasts = std::max(sum.most_broadcasts, one.broadcasts);
    sum.fewest_broadcasts = std::min(sum.fewest_broadcasts, one.broadcasts);
  }
  return sum;
}

// Checks that a share is within four standard deviations of its expected value.
void expect_share(const Sum& sum, std::uint64_t counted, double expected) {
  const double deviation = std::sqrt(expected * (1 - expected) / static_cast<double>(sum.runs));
  EXPECT_NEAR(sum.share(counted), expected, 4 * deviation);
}

Case group(Algorithm algorithm, std::uint32_t nodes, std::uint32_t candidates) {
  Case setup{.algorithm = algorithm, .nodes = nodes, .candidates = candidates};
  if (algorithm != Algorithm::a) setup.start_skew = setup.bound;
  return setup;
}

// Section 4: n broadcasts, time T, one master.
TEST(AlgorithmA, ElectsOneWithNBroadcastsInT) {
  const Case setup = group(Algorithm::a, 5, 3);
  const Sum sum = many(setup, 1000);
  EXPECT_EQ(sum.unique, sum.runs);
  EXPECT_EQ(sum.most_broadcasts, 5U);
  EXPECT_EQ(sum.fewest_broadcasts, 5U);
  EXPECT_EQ(sum.longest, setup.bound);
}

TEST(AlgorithmA, TiesGoToTheLargerNumber) {
  Case setup = group(Algorithm::a, 5, 5);
  setup.criterion = Criterion::equal;
  const Sum sum = many(setup, 200);
  EXPECT_EQ(sum.unique, sum.runs);
}

// "if any of the conditions listed in Algorithm A were violated ..."
TEST(AlgorithmA, DisagreesWithDifferentStarts) {
  Case setup = group(Algorithm::a, 5, 5);
  setup.start_skew = setup.bound / 10;
  const Sum sum = many(setup, 1000);
  EXPECT_GT(sum.share(sum.disagree), 0.02);
}
TEST(AlgorithmA, DisagreesWithDifferentClocks) {
  Case setup = group(Algorithm::a, 5, 5);
  setup.clock_error = setup.bound / 10;
  EXPECT_GT(many(setup, 1000).disagree, 10U);
}
TEST(AlgorithmA, DisagreesIfOnePauses) {
  Case setup = group(Algorithm::a, 5, 5);
  setup.pauses = 1;
  EXPECT_GT(many(setup, 1000).disagree, 100U);
}
TEST(AlgorithmA, AlwaysDisagreesWithoutSelfDelivery) {
  Case setup = group(Algorithm::a, 5, 5);
  setup.self_delivery = false;
  const Sum sum = many(setup, 300);
  EXPECT_EQ(sum.disagree, sum.runs);
}

// Section 5.1: 3T, one broadcast per candidate.
TEST(AlgorithmB1, ElectsOneWithin3T) {
  const Case setup = group(Algorithm::b1, 5, 3);
  const Sum sum = many(setup, 1000);
  EXPECT_EQ(sum.unique, sum.runs);
  EXPECT_EQ(sum.most_broadcasts, 3U);
  EXPECT_EQ(sum.fewest_broadcasts, 3U);
  EXPECT_LE(sum.longest, 3 * setup.bound);
}
TEST(AlgorithmB1, ReelectsIfTheWinnerIsDead) {
  Case setup = group(Algorithm::b1, 6, 4);
  setup.crashes = 2;
  const Sum sum = many(setup, 1000);
  EXPECT_EQ(sum.disagree, 0U);
  EXPECT_GT(sum.reelections, 0U);
  EXPECT_LE(sum.longest, 3 * setup.bound);
}
TEST(AlgorithmB1, ChangingCapacitiesKeepAgreement) {
  Case setup = group(Algorithm::b1, 5, 4);
  setup.criterion = Criterion::changing;
  const Sum sum = many(setup, 500);
  EXPECT_EQ(sum.unique, sum.runs);
}

// Section 5.2: 5T, candidates + n broadcasts, up to t malicious processes.
TEST(AlgorithmB2, ElectsOneWithoutLiars) {
  const Case setup = group(Algorithm::b2, 5, 3);
  const Sum sum = many(setup, 500);
  EXPECT_EQ(sum.unique, sum.runs);
  EXPECT_EQ(sum.most_broadcasts, 8U);
  EXPECT_LE(sum.longest, 5 * setup.bound);
}
TEST(AlgorithmB2, LiarsDoNotBreakAgreement) {
  for (const auto& [nodes, liars] : {std::pair{4U, 1U}, std::pair{7U, 2U}}) {
    Case setup = group(Algorithm::b2, nodes, nodes - 1);
    setup.malicious = liars;
    const Sum sum = many(setup, 1000);
    EXPECT_EQ(sum.unique, sum.runs) << nodes;
    EXPECT_LE(sum.longest, 5 * setup.bound);
  }
}
TEST(AlgorithmB2, PrintedChoiceBreaksAgreement) {
  Case setup = group(Algorithm::b2, 4, 3);
  setup.malicious = 1;
  setup.variant = Variant::as_printed;
  EXPECT_GT(many(setup, 1000).disagree, 10U);
}
// Section 5.3.
TEST(AlgorithmB2, UnorderedBroadcastsKeepAgreement) {
  for (const auto& [nodes, liars] : {std::pair{4U, 1U}, std::pair{7U, 2U}}) {
    Case setup = group(Algorithm::b2_unordered, nodes, nodes - 1);
    setup.malicious = liars;
    const Sum sum = many(setup, 300);
    EXPECT_EQ(sum.unique, sum.runs) << nodes;
    EXPECT_LE(sum.longest, (5 + 6 * (liars + 1)) * setup.bound);
    EXPECT_LE(sum.most_broadcasts, 2 * (nodes - 1 + nodes + (liars + 1) * (2 * nodes + 1)));
  }
}

// Section 6.
TEST(AlgorithmC, WithoutLossElectsOneAndNeedsNoHelp) {
  for (const std::uint32_t candidates : {1U, 2U, 5U}) {
    const Sum sum = many(group(Algorithm::c, 5, candidates), 500);
    EXPECT_EQ(sum.unique, sum.runs) << candidates;
    EXPECT_EQ(sum.help, 0U) << candidates;
  }
}
TEST(AlgorithmC, PrintedVersionAsksForHelp) {
  for (const std::uint32_t candidates : {2U, 3U, 5U}) {
    Case setup = group(Algorithm::c, 5, candidates);
    setup.variant = Variant::as_printed;
    const Sum sum = many(setup, 1000);
    EXPECT_GT(sum.share(sum.help), 0.08) << candidates;
    EXPECT_LT(sum.share(sum.help), 0.45) << candidates;
  }
}
TEST(AlgorithmC, TwoMastersAreAsFrequentAsPredicted) {
  for (const double loss : {0.3, 0.5}) {
    Case setup = group(Algorithm::c, 2, 2);
    setup.start_skew = Nanos{0};
    setup.loss = loss;
    const Sum sum = many(setup, 2000);
    expect_share(sum, sum.several, loss * loss * loss * (2 - loss));
  }
}

// Composed machines: elections over atomic broadcast on clocks with different readings.
TEST(OverAtomicBroadcast, ElectionsKeepTheirProperties) {
  for (const Algorithm algorithm : {Algorithm::a, Algorithm::b1, Algorithm::b2}) {
    Case setup = group(algorithm, 5, 3);
    setup.over_atomic = true;
    setup.start_skew = algorithm == Algorithm::a ? Nanos{0} : 1ms;
    const Sum sum = many(setup, 200);
    EXPECT_EQ(sum.unique, sum.runs) << static_cast<int>(algorithm);
  }
}
TEST(OverAtomicBroadcast, DeadWinnersAreReplaced) {
  Case setup = group(Algorithm::b1, 5, 4);
  setup.over_atomic = true;
  setup.start_skew = 1ms;
  setup.crashes = 1;
  const Sum sum = many(setup, 300);
  EXPECT_EQ(sum.disagree, 0U);
  EXPECT_GT(sum.reelections, 0U);
}

}  // namespace
}  // namespace tempo::sim::capacity
