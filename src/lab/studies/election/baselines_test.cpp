#include "lab/studies/election/baselines.h"

#include <gtest/gtest.h>

#include "lab/sim/delay.h"

namespace tempo::sim::election {
namespace {

// LeLann: N ids make N hops. Bully: the highest informs N-1; or the lowest asks, each node asks all
// above it and is answered, and the highest informs N-1.
void expect_laws(std::uint32_t survivors, const Delay& delay, std::uint64_t seed) {
  const std::uint64_t n = survivors;
  const std::vector<BaselineCost> costs = baseline_costs(survivors, seed, delay);
  ASSERT_EQ(costs.size(), 3U);
  const std::uint64_t laws[] = {n * n, n - 1, n * (n - 1) / 2 + n * (n - 1) / 2 + n - 1};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(costs[i].messages, laws[i]) << costs[i].name << ", N = " << n << ", seed " << seed;
    EXPECT_EQ(costs[i].predicted, laws[i]) << costs[i].name << ", N = " << n;
    EXPECT_TRUE(costs[i].agreed) << costs[i].name << ", N = " << n << ", seed " << seed;
    EXPECT_NE(costs[i].leader, kNobody) << costs[i].name;
    EXPECT_GT(costs[i].time, Nanos{0}) << costs[i].name;
  }
}

TEST(Baselines, CostAsPublished) {
  for (std::uint32_t survivors = 2; survivors <= 40; ++survivors)
    expect_laws(survivors, Delay::constant(1ms), 1);
}

// The highest wins. An id goes round the whole ring. The bully's highest waits four hops for an
// answer from above before it informs all; the lowest's question takes one more hop to reach it.
TEST(Baselines, ElectTheHighestInTime) {
  for (const std::uint32_t survivors : {2U, 3U, 9U}) {
    const std::vector<BaselineCost> costs = baseline_costs(survivors, 1, Delay::constant(1ms));
    for (const BaselineCost& cost : costs) EXPECT_EQ(cost.leader, NodeId{survivors - 1});
    EXPECT_EQ(costs[0].time, 1ms * survivors);
    EXPECT_EQ(costs[1].time, 5ms);
    EXPECT_EQ(costs[2].time, 6ms);
  }
}

// With unbounded delays a row may show that no node won. The highest informs four nodes; each
// misses the message in about one of four runs, and one miss is enough.
TEST(Baselines, ReportDisagreement) {
  std::size_t split = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const std::vector<BaselineCost> costs = baseline_costs(5, seed, *Delay::parse("pareto:1h,0.5"));
    for (const BaselineCost& cost : costs)
      EXPECT_EQ(cost.agreed, cost.leader != kNobody) << cost.name << ", seed " << seed;
    split += !costs[1].agreed;
  }
  EXPECT_GT(split, 50U);
  EXPECT_LT(split, 85U);
}

TEST(Baselines, CostTheSameWithRandomDelays) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed)
    expect_laws(2 + static_cast<std::uint32_t>(seed % 17), Delay::uniform(100us, 2ms), seed);
}

}  // namespace
}  // namespace tempo::sim::election
