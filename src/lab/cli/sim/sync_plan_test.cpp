#include "lab/cli/sim/sync_plan.h"

#include <gtest/gtest.h>

namespace tempo::cli {
namespace {

TEST(SyncPlan, AddsDelayAndJitter) {
  const auto plan = parse_plan(SimSyncArguments{.delay = "50us", .jitter_up = "exp:200us"});
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->up.text(), "50us+exp:200us");
  EXPECT_EQ(plan->down.text(), "50us+exp:100us");
}

TEST(SyncPlan, RefusesInvalidOptions) {
  for (const SimSyncArguments& wrong :
       {SimSyncArguments{.clients = 0}, SimSyncArguments{.jitter = "exp:"},
        SimSyncArguments{.loss = 1}, SimSyncArguments{.frequency = "1000ppm"},
        SimSyncArguments{.rate = 0}, SimSyncArguments{.seconds = 30},
        SimSyncArguments{.seconds = 100, .discard = 90}, SimSyncArguments{.liars = "9:random"},
        SimSyncArguments{.lying_master = true}, SimSyncArguments{.kill_master_at = 4000},
        SimSyncArguments{.churn = 30}, SimSyncArguments{.trusted = 5},
        SimSyncArguments{.trusted = 2, .utc_liars = 3}, SimSyncArguments{.leap_at = 100},
        SimSyncArguments{.trusted = 2, .leap_at = 4000},
        SimSyncArguments{.disturb = {"5:rate:5ppm@2000"}},
        SimSyncArguments{.disturb = {"1:ramp:5ppm/300@3900"}}, SimSyncArguments{.seeds = 0}}) {
    const auto plan = parse_plan(wrong);
    ASSERT_FALSE(plan.has_value());
    EXPECT_GT(plan.error().size(), 20U);
  }
}

TEST(SyncPlan, PlacesChangesInTheMiddleByDefault) {
  EXPECT_EQ(parse_plan(SimSyncArguments{.longer_up = "200us"})->change_at, 2500U);
  EXPECT_EQ(parse_plan(SimSyncArguments{})->change_at, std::nullopt);
}

}  // namespace
}  // namespace tempo::cli
