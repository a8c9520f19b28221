// Every scenario satisfies every property, and a plan is complete before it runs.
#include "lab/studies/election/scenario.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/studies/election/scenario_test_setup.h"

namespace tempo::sim::election {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// --- every scenario satisfies every property ---

class EveryScenario
    : public ::testing::TestWithParam<std::tuple<std::string_view, std::string_view>> {};

TEST_P(EveryScenario, SatisfiesItsProperties) {
  const auto& [name, profile] = GetParam();
  const Scenario scenario = *parse_scenario(name);
  for (std::uint64_t seed = 1; seed <= seeds(10, 500); ++seed) {
    auto setup = setup_of(profile, 7);
    setup.seed = seed;
    const Outcome outcome = run(*plan_of(scenario, setup, 0s));
    const std::string how = replay(scenario, profile, setup, outcome);
    EXPECT_EQ(outcome.violation_count, 0U) << how;
    EXPECT_TRUE(outcome.reached) << how;
    EXPECT_EQ(outcome.final_masters.size(), 1U) << how;
  }
}

// The smallest network of the scenario.
TEST_P(EveryScenario, SatisfiesItsPropertiesWithTheFewestNodes) {
  const auto& [name, profile] = GetParam();
  const Scenario scenario = *parse_scenario(name);
  for (std::uint64_t seed = 1; seed <= seeds(5, 500); ++seed) {
    auto setup = setup_of(profile, fewest_nodes(scenario));
    setup.seed = seed;
    const Outcome outcome = run(*plan_of(scenario, setup, 0s));
    EXPECT_EQ(outcome.violation_count, 0U) << replay(scenario, profile, setup, outcome);
  }
}

TEST_P(EveryScenario, IsDeterministic) {
  const auto& [name, profile] = GetParam();
  const Scenario scenario = *parse_scenario(name);
  auto setup = setup_of(profile, 5);
  setup.link.loss = 0.1;
  std::set<std::uint64_t> hashes;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    setup.seed = seed;
    const std::uint64_t hash = run(*plan_of(scenario, setup, 0s)).trace_hash;
    EXPECT_EQ(run(*plan_of(scenario, setup, 0s)).trace_hash, hash);
    hashes.insert(hash);
  }
  EXPECT_EQ(hashes.size(), 3U) << "another seed must give another run";
}

INSTANTIATE_TEST_SUITE_P(All, EveryScenario,
                         ::testing::Combine(::testing::ValuesIn(scenario_names()),
                                            ::testing::ValuesIn(tempo::election::profile_names())),
                         [](const auto& row) {
                           std::string name =
                               fmt::format("{}_{}", std::get<0>(row.param), std::get<1>(row.param));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// tests/cli has these values from the release build of the program; other builds must agree.
TEST(SameSeed, SameHashInEveryBuild) {
  auto setup = setup_of("lan", 7);
  setup.link.loss = 0.1;
  setup.link.duplicate = 0.05;
  setup.link.reorder = 0.1;
  setup.link.delay = *Delay::parse("100us+exp:200us");
  setup.link.lateness = Delay::uniform(0s, 4 * setup.link.delay.mean());
  setup.seed = 42;
  EXPECT_EQ(run(*plan_of(Scenario::churn, setup, 0s)).trace_hash, 0xdcd7e27b2ee91d54);
}

// Without a newcomer: the first Loop of either master repairs it.
TEST(PartitionHeal, TakesAtMostTwoLoopsAndTwoDelays) {
  for (const std::string_view profile : tempo::election::profile_names()) {
    for (std::uint64_t seed = 1; seed <= seeds(15, 2000); ++seed) {
      auto setup = setup_of(profile, 7);
      setup.seed = seed;
      const Outcome outcome = run(*plan_of(Scenario::partition_heal, setup, 0s));
      EXPECT_TRUE(outcome.ever_two_masters);
      EXPECT_LE(outcome.time_to_master, 2 * setup.rules.timing.loop + 2 * setup.rules.timing.delay)
          << replay(Scenario::partition_heal, profile, setup, outcome);
    }
  }
}

// --- plans ---

TEST(Plan, NeedsEnoughNodes) {
  for (const std::string_view name : scenario_names()) {
    const Scenario scenario = *parse_scenario(name);
    const std::uint32_t fewest = fewest_nodes(scenario);
    EXPECT_TRUE(plan_of(scenario, setup_of("lan", fewest), 0s).has_value()) << name;
    const auto failed = plan_of(scenario, setup_of("lan", fewest - 1), 0s);
    ASSERT_FALSE(failed.has_value()) << name;
    EXPECT_EQ(failed.error(),
              fmt::format("scenario {} needs at least {} nodes, not {}", name, fewest, fewest - 1));
  }
}

TEST(Plan, ReportsEveryContradictionOfTheTimers) {
  auto setup = setup_of("lan", 5, 9);
  setup.rules.timing.election_max = 1s;
  const auto failed = plan_of(Scenario::start, setup, 0s);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error(),
            "the longest election timer must not be shorter than the shortest; repeats must be at "
            "most 4, not 9");
}

TEST(Plan, OfCollisionsNeedsABoundedDelay) {
  auto setup = setup_of("lan", 5);
  setup.link.delay = *Delay::parse("exp:1ms");
  const auto failed = plan_of(Scenario::collision, setup, 0s);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error(), "scenario collision needs a delay with an upper bound, not exp:1ms");
}

TEST(Plan, FindsScenariosByName) {
  std::set<std::string_view> names;
  for (const std::string_view name : scenario_names()) {
    EXPECT_EQ(name_of(*parse_scenario(name)), name);
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_EQ(names.size(), 11U);
  const auto failed = parse_scenario("revolution");
  ASSERT_FALSE(failed.has_value());
  EXPECT_THAT(failed.error(),
              StartsWith("there is no scenario 'revolution'; choose one of start, master-crash"));
  for (const std::string_view name : names) EXPECT_THAT(failed.error(), HasSubstr(name));
}

// A plan is complete before the run: sorted by time, with its end of faults computed.
TEST(Plan, IsSortedAndEndsWithoutFaults) {
  for (const std::string_view name : scenario_names()) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      auto setup = setup_of("lan", 7);
      setup.seed = seed;
      setup.link.loss = 0.1;
      const Experiment experiment = *plan_of(*parse_scenario(name), setup, 0s);
      EXPECT_TRUE(std::ranges::is_sorted(experiment.plan, {}, &Fault::at)) << name;
      for (const Fault& fault : experiment.plan) {
        EXPECT_LE(fault.at, experiment.peace_from) << name;
        if (fault.lasts != kForEver) {
          EXPECT_LE(fault.at + fault.lasts, experiment.peace_from) << name;
        }
      }
      EXPECT_LT(experiment.peace_from, experiment.limit) << name;
    }
  }
}

TEST(Plan, UntilLimitsTheWait) {
  // No node can become master within a tenth of a second.
  const Outcome outcome = run(*plan_of(Scenario::start, setup_of("lan", 3), 100ms));
  EXPECT_FALSE(outcome.reached);
  ASSERT_EQ(outcome.violation_count, 1U);
  EXPECT_EQ(outcome.violations.front().property, "one-master");
  EXPECT_EQ(outcome.masters, 0U);
}

}  // namespace
}  // namespace tempo::sim::election
