// Exhaustive checks of the shipped ring elections with a few stations.
#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lab/check/expect.h"
#include "lab/check/explore.h"
#include "lab/studies/group/ring/ring_models.h"

namespace tempo::check {
namespace {

Finding equitable(const RingWorld& world, std::uint32_t range,
                  election::ring::Method method = election::ring::Method::equitable) {
  const EquitableModel model{.rules = {.link = link_rules(world), .range = range, .method = method},
                             .elections = 3};
  std::vector<std::pair<NodeId, election::ring::Command>> commands;
  for (std::uint32_t i = 0; i < std::min(world.wakers, world.stations); ++i)
    commands.emplace_back(NodeId{i}, election::ring::Command::wake);
  Space<EquitableModel> space(model, freedom_of(world), commands);
  return Search<EquitableModel>(space, {}).run();
}

Finding anonymous(const RingWorld& world, std::uint32_t stages, bool printed = false) {
  const AnonymousModel model{.rules = anonymous_rules(world, stages, printed)};
  std::vector<std::pair<NodeId, election::anonymous::Command>> commands;
  for (std::uint32_t i = 0; i < std::min(world.wakers, world.stations); ++i)
    commands.emplace_back(NodeId{i}, election::anonymous::Command::wake);
  Space<AnonymousModel> space(model, freedom_of(world), commands);
  return Search<AnonymousModel>(space, {}).run();
}

TEST(CheckRing, EquitableIsSound) {
  expect_sound(equitable({.stations = 2, .delay_max = 2}, 3), 1'285);
  expect_sound(equitable({.stations = 3}, 2), 7'063);
}

TEST(CheckRing, EquitableToleratesACrash) {
  expect_sound(equitable({.stations = 2, .wakers = 1, .budget = {.crashes = 1}}, 2), 1'000);
}

// Larger worlds; each takes a few seconds without sanitizers.
TEST(CheckRing, EquitableToleratesMoreInLargerWorlds) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  expect_sound(equitable({.stations = 4, .wakers = 4}, 2), 201'703);
  expect_sound(equitable({.stations = 3, .wakers = 1, .budget = {.crashes = 1}}, 2), 100'000);
  expect_sound(equitable({.stations = 2, .wakers = 1, .budget = {.losses = 1, .duplicates = 1}}, 2),
               500'000);
}

TEST(CheckRing, OtherMethodsAreSound) {
  expect_sound(equitable({.stations = 3}, 2, election::ring::Method::ties_by_id), 300);
  expect_sound(equitable({.stations = 3}, 2, election::ring::Method::highest_id), 100);
}

TEST(CheckRing, AnonymousCanAlwaysEnd) {
  expect_sound(anonymous({.stations = 2}, 2), 902);
  expect_sound(anonymous({.stations = 3}, 2), 19'362);
}

TEST(CheckRing, PrintedNextTimerNeverEnds) {
  const Finding finding = anonymous({.stations = 2}, 1, true);
  ASSERT_TRUE(finding.violation);
  EXPECT_EQ(finding.violation->property, kComesGood);
  EXPECT_FALSE(finding.violation->prefix.empty());
  EXPECT_FALSE(finding.violation->cycle.empty());
}

}  // namespace
}  // namespace tempo::check
