#include "lab/studies/election/shrink_experiment.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lab/studies/election/fault.h"

namespace tempo::sim::election {
namespace {

using tempo::election::Kind;

std::uint64_t sent(const Outcome& outcome, Kind kind) {
  return outcome.messages[static_cast<std::size_t>(kind)];
}

std::vector<std::string> texts(const std::vector<Fault>& plan) {
  std::vector<std::string> all;
  all.reserve(plan.size());
  for (const Fault& fault : plan) all.push_back(fault_text(fault));
  return all;
}

Setup seven_on_a_lan() {
  Setup setup;
  setup.nodes = 7;
  setup.rules.timing = *tempo::election::profile("lan");
  setup.seed = 9;
  return setup;
}

void add(Experiment& experiment, Nanos at, const std::string& text) {
  Result<Fault> fault = parse_fault(text, experiment.setup.nodes);
  ASSERT_TRUE(fault.has_value()) << fault.error();
  fault->at = Instant{at};
  experiment.plan.push_back(*fault);
}

// Forty faults, of which two matter: node 5 starts, and dies with a parent that reports it. No
// other node ever sends a Masterdown.
Experiment forty_faults() {
  Experiment experiment{.setup = seven_on_a_lan()};
  for (int i = 1; i <= 7; ++i) add(experiment, 10ms * i, "start " + std::to_string(i));
  for (int i = 1; i <= 4; ++i) {
    const Nanos round = 2s * i;
    const std::string node = std::to_string(i);
    add(experiment, round, "crash " + node + " for 700ms");
    add(experiment, round + 100ms, "partition 1," + std::to_string(i + 2) + " for 500ms");
    add(experiment, round + 200ms, "deaf " + std::to_string(i + 1) + " for 1s");
    add(experiment, round + 300ms, "mute " + std::to_string(i + 3) + " for 300ms");
    add(experiment, round + 400ms, "lose *->" + node + " accept for 1s");
    add(experiment, round + 500ms, "twice " + node + "->* election for 1s");
    add(experiment, round + 600ms, "stand " + std::to_string(i + 3));
    add(experiment, round + 900ms, "late " + node + "->7 any 20ms for 100ms");
  }
  add(experiment, 9500ms, "hint 5 for 1s");
  experiment.limit = Instant{60s};
  experiment.peace_from = Instant{10500ms};
  return experiment;
}

TEST(ShrinkExperiment, KeepsTheTwoNeededFaultsOfForty) {
  const Experiment large = forty_faults();
  ASSERT_EQ(large.plan.size(), 40U);
  int runs = 0;
  const auto says_masterdown = [&](const Experiment& experiment) {
    ++runs;
    return sent(run(experiment), Kind::masterdown) > 0;
  };
  ASSERT_TRUE(says_masterdown(large));
  const Experiment small = shrink(large, says_masterdown);
  EXPECT_EQ(texts(small.plan), (std::vector<std::string>{"start 5", "hint 5 for 1s"}));
  EXPECT_EQ(small.setup.nodes, 5U);
  EXPECT_EQ(small.limit, large.peace_from);  // the violation shows before the faults end
  EXPECT_TRUE(says_masterdown(small));
  EXPECT_LT(runs, 200);
}

// A property violated in a run with many faults is violated in the shrunk run.
TEST(ShrinkExperiment, KeepsThePropertyViolated) {
  Experiment experiment{.setup = seven_on_a_lan()};
  experiment.setup.rules.variant.refuse_duplicate = true;
  experiment.setup.link.delay = Delay::constant(1ms);
  add(experiment, 0s, "start 1");
  for (int i = 2; i <= 7; ++i) add(experiment, 1100ms, "start " + std::to_string(i));
  add(experiment, 2100ms, "crash 1");
  add(experiment, 3300ms, "twice 2->3 election for 10ms");
  add(experiment, 3300ms, "stand 2");
  experiment.limit = Instant{60s};
  experiment.peace_from = Instant{3310ms};
  ASSERT_TRUE(breaks(experiment, "sole-candidate-wins"));
  EXPECT_FALSE(breaks(experiment, "obeys-newest"));

  const Experiment small = shrink(
      experiment, [](const Experiment& smaller) { return breaks(smaller, "sole-candidate-wins"); });
  EXPECT_TRUE(breaks(small, "sole-candidate-wins"));
  EXPECT_LT(small.plan.size(), experiment.plan.size());
  for (std::size_t i = 0; i < small.plan.size(); ++i) {
    Experiment without = small;
    without.plan.erase(without.plan.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_FALSE(breaks(without, "sole-candidate-wins")) << fault_text(small.plan[i]);
  }

  experiment.setup.rules.variant = {};
  EXPECT_FALSE(breaks(experiment, "sole-candidate-wins"));
}

}  // namespace
}  // namespace tempo::sim::election
