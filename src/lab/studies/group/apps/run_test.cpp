// King, Gendreau, Ni 1988, section 7: each application satisfies its property under faults, and its
// naive version does not.
#include "lab/studies/group/apps/run.h"

#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

namespace tempo::sim::apps {
namespace {

using Case = Setup;  // `Setup` is a member of every test fixture

struct Sum {
  std::uint64_t runs = 0, broken = 0, asked = 0, done = 0;
  std::string first{};  // first violation, and its seed
};

Sum many(Case setup, std::uint64_t runs) {
  if (std::getenv("TEMPO_SOAK") != nullptr) runs *= 100;
  Sum sum{.runs = runs};
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    setup.seed = seed;
    const Outcome one = run(setup);
    sum.asked += one.asked;
    sum.done += one.done;
    if (one.broken.empty()) continue;
    if (sum.broken++ == 0) sum.first = fmt::format("seed {}: {}", seed, one.broken);
  }
  return sum;
}

class Applications : public ::testing::TestWithParam<ApplicationInfo> {
 protected:
  static Case setup(std::uint32_t nodes = 5) {
    const Application application = GetParam().application;
    return {.application = application,
            .nodes = nodes,
            .crashes = std::min(1U, most_crashes(application, nodes))};
  }
};

TEST_P(Applications, SatisfyTheirProperty) {
  const Sum sum = many(setup(), 100);
  EXPECT_EQ(sum.broken, 0U) << sum.first;
  EXPECT_GT(sum.asked, sum.runs) << "too few requests";
  EXPECT_GT(sum.done, 0U) << "no request was done";
}

TEST_P(Applications, SatisfyItWithoutCrashes) {
  Case calm = setup();
  calm.crashes = 0;
  const Sum sum = many(calm, 20);
  EXPECT_EQ(sum.broken, 0U) << sum.first;
}

TEST_P(Applications, SatisfyItWithTheLargestNumberOfCrashes) {
  for (const std::uint32_t nodes : {3U, 7U}) {
    Case hard = setup(nodes);
    hard.crashes = most_crashes(hard.application, nodes);
    const Sum sum = many(hard, 20);
    EXPECT_EQ(sum.broken, 0U) << nodes << " nodes, " << sum.first;
  }
}

TEST_P(Applications, SatisfyItWithLostDatagrams) {
  Case lossy = setup();
  lossy.loss = 0.2;
  const Sum sum = many(lossy, 20);
  EXPECT_EQ(sum.broken, 0U) << sum.first;
}

TEST_P(Applications, ViolateItInTheNaiveVersion) {
  Case naive = setup();
  naive.naive = true;
  const Sum sum = many(naive, 60);
  EXPECT_GT(sum.broken, 0U);
}

TEST_P(Applications, AreDeterministic) {
  Trace trace(true);
  const Outcome once = run(setup(), &trace);
  const Outcome again = run(setup());
  EXPECT_EQ(once.hash, again.hash);
  EXPECT_EQ(once.hash, trace.hash());
  EXPECT_FALSE(trace.happenings().empty());
  Case other = setup();
  other.seed = 2;
  EXPECT_NE(run(other).hash, once.hash);
}

INSTANTIATE_TEST_SUITE_P(All, Applications, ::testing::ValuesIn(all_applications()),
                         [](const auto& row) {
                           std::string name(row.param.name);
                           std::erase(name, '-');
                           return name;
                         });

TEST(Losses, RepeatsBringTheLossBelow1e12) {
  EXPECT_EQ(repeats_for(0), 0U);
  EXPECT_EQ(repeats_for(0.2), 17U);  // 0.2^18 is the first power below 10^-12
  EXPECT_EQ(repeats_for(0.5), 39U);  // 2^-40 is the first power below 10^-12
}

}  // namespace
}  // namespace tempo::sim::apps
