// The membership machine in lossy worlds.
#include "lab/studies/membership/membership_run.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace tempo::sim::views {
namespace {

constexpr std::uint64_t kSeeds = 40;  // of each world; `tempo_study_membership_soak` runs more

void expect_no_violation(Setup setup) {
  double main_share = 0;
  for (setup.seed = 1; setup.seed <= kSeeds; ++setup.seed) {
    const Outcome outcome = run(setup);
    EXPECT_EQ(outcome.broken, "") << "nodes " << setup.nodes << ", seed " << setup.seed;
    main_share += outcome.main_share / kSeeds;
  }
  ::testing::Test::RecordProperty("main_share_percent", static_cast<int>(100 * main_share));
}

TEST(Views, HoldInACalmWorld) {
  expect_no_violation({.loss = 0, .duplicates = 0, .most_delay = 20ms, .wrong = 0, .faults = 0});
}
TEST(Views, HoldWithCrashesAndPartitions) {
  for (const std::uint32_t nodes : {1U, 2U, 3U, 5U, 7U})
    expect_no_violation({.nodes = nodes, .loss = 0.02, .duplicates = 0.02, .most_delay = 50ms});
}
TEST(Views, HoldInAWorldOfLossAndLateDatagrams) {
  for (const std::uint32_t nodes : {2U, 3U, 4U, 5U})
    expect_no_violation({.nodes = nodes, .loss = 0.3, .duplicates = 0.3, .most_delay = 3s});
}
TEST(Views, HoldWithWrongElections) {
  for (const std::uint32_t nodes : {2U, 3U, 5U})
    expect_no_violation({.nodes = nodes, .most_delay = 200ms, .wrong = 1});
}
TEST(Views, HoldWhenRecordsAreLost) {
  for (const std::uint32_t nodes : {3U, 5U})
    expect_no_violation({.nodes = nodes, .most_delay = 200ms, .lost_records = 0.15});
}

}  // namespace
}  // namespace tempo::sim::views
