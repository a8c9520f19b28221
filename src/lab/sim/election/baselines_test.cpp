#include "lab/sim/election/baselines.h"

#include <gtest/gtest.h>

#include "lab/sim/delay.h"

namespace tempo::sim::election {
namespace {

// LeLann: N ids go round N hops. Bully: the highest tells N-1; or the lowest asks, everybody asks
// everybody above it and is answered, and the highest tells N-1.
void expect_laws(std::uint32_t survivors, const Delay& delay, std::uint64_t seed) {
  const std::uint64_t n = survivors;
  const std::vector<BaselineCost> costs = baseline_costs(survivors, seed, delay);
  ASSERT_EQ(costs.size(), 3U);
  const std::uint64_t laws[] = {n * n, n - 1, n * (n - 1) / 2 + n * (n - 1) / 2 + n - 1};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(costs[i].messages, laws[i]) << costs[i].name << ", N = " << n << ", seed " << seed;
    EXPECT_EQ(costs[i].predicted, laws[i]) << costs[i].name << ", N = " << n;
    EXPECT_TRUE(costs[i].agreed) << costs[i].name << ", N = " << n << ", seed " << seed;
  }
}

TEST(Baselines, CostWhatTheirPapersSay) {
  for (std::uint32_t survivors = 2; survivors <= 40; ++survivors)
    expect_laws(survivors, Delay::constant(1ms), 1);
}

TEST(Baselines, CostTheSameWithRandomDelays) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed)
    expect_laws(2 + static_cast<std::uint32_t>(seed % 17), Delay::uniform(100us, 2ms), seed);
}

}  // namespace
}  // namespace tempo::sim::election
