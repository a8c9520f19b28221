#include "lab/sim/sync/experiment.h"

#include <gtest/gtest.h>

namespace tempo::sim::sync {
namespace {

Experiment brief() {
  return {.up = *Delay::parse("100us+exp:10us"),
          .down = *Delay::parse("100us+exp:10us"),
          .seconds = 300,
          .discard = 150};
}

TEST(SyncExperiment, KeepsClocksTogetherInsideTheirBounds) {
  const Outcome outcome = run(brief());
  EXPECT_LT(outcome.rms, 2);
  EXPECT_GT(outcome.rms, 0.01) << "clocks that never differ were not simulated";
  EXPECT_LE(outcome.rms, outcome.p99);
  EXPECT_LE(outcome.p99, outcome.most);
  EXPECT_EQ(outcome.bound_violations, 0U);
  EXPECT_NEAR(outcome.least_trip, 200, 1);
  EXPECT_GT(outcome.bound_width, outcome.least_trip);
  EXPECT_GT(outcome.converged_1ms, 0);
  EXPECT_GE(outcome.converged_20us, outcome.converged_1ms);
  EXPECT_EQ(outcome.master_changes, 0U);
  EXPECT_EQ(outcome.steps, 0U);
}

TEST(SyncExperiment, OneSeedIsOneStory) {
  const Outcome a = run(brief());
  const std::vector<Outcome> both = run_seeds(brief(), 2, 2);
  EXPECT_EQ(a.rms, both[0].rms);
  EXPECT_EQ(a.packets_per_second, both[0].packets_per_second);
  EXPECT_NE(a.rms, both[1].rms);
}

TEST(SyncExperiment, NothingIsTunedToTheCase) {
  Experiment loud = brief();
  loud.up = loud.down = *Delay::parse("100us+normal:1ms,100us");
  loud.rate = 4;
  loud.isolated = true;
  EXPECT_EQ(run(brief()).config_hash, run(loud).config_hash);
}

TEST(SyncExperiment, AMasterThatIsKilledIsReplaced) {
  Experiment killed = brief();
  killed.kill_master_at = 200;
  const Outcome outcome = run(killed);
  EXPECT_EQ(outcome.master_changes, 1U);
  EXPECT_GT(outcome.election_spread, 0);
  EXPECT_EQ(outcome.bound_violations, 0U);
  EXPECT_EQ(outcome.steps, 0U) << "nobody jumps when the master changes";
}

// A client that reports nonsense must not be missed by the judge: it is left out, the others stay.
TEST(SyncExperiment, LiarsAreNotJudged) {
  Experiment lies = brief();
  lies.clients = 6;
  lies.liars = {.count = 2, .lie = Lie::random};
  const Outcome outcome = run(lies);
  EXPECT_LT(outcome.rms, 2);
  EXPECT_EQ(outcome.bound_violations, 0U);
}

TEST(Liars, AreReadAsWritten) {
  ASSERT_TRUE(parse_liars("2:drifting").has_value());
  EXPECT_EQ(parse_liars("2:drifting")->count, 2U);
  EXPECT_EQ(parse_liars("2:drifting")->lie, Lie::drifting);
  for (const char* wrong :
       {"", "2", ":random", "2:", "2:none", "x:random", "2:random ", "-1:random"})
    EXPECT_FALSE(parse_liars(wrong).has_value()) << wrong;
}

}  // namespace
}  // namespace tempo::sim::sync
