#include "lab/studies/daemon/daemon_world.h"

#include <iterator>
#include <set>
#include <string>

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace tempo::sim::daemon {
namespace {

std::string text_of(const daemon::Setup& setup, const Outcome& outcome) {
  std::string text = fmt::format("seed {}\n", setup.seed);
  for (const Violation& violation : outcome.violations)
    fmt::format_to(std::back_inserter(text), "{} at {} ms: {}\n", violation.property,
                   violation.at.time_since_epoch() / 1ms, violation.text);
  return text;
}

class EveryScenario : public testing::TestWithParam<Scenario> {};
INSTANTIATE_TEST_SUITE_P(Daemon, EveryScenario,
                         testing::Values(Scenario::churn, Scenario::partition, Scenario::restart,
                                         Scenario::disk, Scenario::everything));

TEST_P(EveryScenario, KeepsTheProperties) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const daemon::Setup setup{.scenario = GetParam(), .seed = seed};
    const Outcome outcome = run(setup);
    EXPECT_TRUE(outcome.kept()) << text_of(setup, outcome);
    EXPECT_GT(outcome.entries, 20U);
    EXPECT_GT(outcome.masters, 0U);
  }
}

// The new master had joined twelve seconds before and knew the rate of network time worse than its
// members. One of them objected, then used exchanges that were possible again, and for the rest of
// the objection its bounds contained only the line that it held.
TEST(Daemon, AMemberThatObjectsIncludesTheMastersTime) {
  const daemon::Setup setup{.seed = 37879};
  const Outcome outcome = run(setup);
  EXPECT_TRUE(outcome.kept()) << text_of(setup, outcome);
}

// Deliberate faults of the driver: at least one of ten runs notices each of them.
TEST(Daemon, NoticesDeliberateFaults) {
  const auto violated = [](daemon::Setup setup) {
    setup.scenario = Scenario::disk;
    std::set<std::string> properties;
    for (setup.seed = 1; setup.seed <= 10; ++setup.seed) {
      const Outcome outcome = run(setup);
      if (!outcome.kept()) properties.insert(outcome.violations.front().property);
    }
    return properties;
  };
  EXPECT_TRUE(violated({.ignore_order = true}).contains("one-voter-set"));
  EXPECT_TRUE(violated({.forget_persisted = true}).contains("progress"));
  EXPECT_TRUE(violated({.notify_twice = true}).contains("one-answer"));
}

TEST(Daemon, IsDeterministic) {
  const daemon::Setup setup{.seed = 3, .until = 20s};
  const Outcome first = run(setup);
  EXPECT_EQ(first.hash, run(setup).hash);
  EXPECT_NE(first.hash, run({.seed = 4, .until = 20s}).hash);
}

}  // namespace
}  // namespace tempo::sim::daemon
