// What goes wrong in the World by order: cuts, crashes, restarts and pauses.
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lab/sim/world_test_parrot.h"

namespace tempo::sim {
namespace {

TEST(WorldCuts, CutOneWay) {
  Stage stage({.nodes = 3, .link = steady(1ms)});
  stage.start_all();
  stage.world.set_partition(partition(3, {{1, 2}}));
  EXPECT_FALSE(stage.world.reaches(kOne, kTwo));
  EXPECT_TRUE(stage.world.reaches(kTwo, kOne));
  EXPECT_FALSE(stage.world.whole());
  stage.say(1, 0, 7);
  stage.say(2, 1, 8);
  stage.run(2ms);
  EXPECT_EQ(stage.watch.lines, (Lines{"1 3 hears 7 from 1", "1 1 hears 8 from 2"}));
  EXPECT_EQ(stage.watch.losses, (std::set<std::uint32_t>{7}));
}

TEST(WorldCuts, CutBothWaysUntilMended) {
  Stage stage({.nodes = 3, .link = steady(1ms)});
  stage.start_all();
  stage.say(1, 2, 1);  // under way: still arrives
  stage.world.set_partition(partition(3, {{1, 2}, {2, 1}, {3, 2}, {2, 3}}));
  stage.say(1, 0, 2);
  stage.say(2, 0, 3);
  stage.run(2ms);
  EXPECT_EQ(stage.watch.lines, (Lines{"1 2 hears 1 from 1", "1 3 hears 2 from 1"}));
  stage.world.set_partition({});
  EXPECT_TRUE(stage.world.whole());
  stage.say(1, 0, 4);
  stage.run(4ms);
  EXPECT_EQ(stage.watch.lines, (Lines{"1 2 hears 1 from 1", "1 3 hears 2 from 1",
                                      "3 2 hears 4 from 1", "3 3 hears 4 from 1"}));
  EXPECT_EQ(stage.watch.disturbances, (Lines{"1 starts", "2 starts", "3 starts", "cut", "whole"}));
}

// What a cut loses is drawn for all the same: mending it later changes no delay.
TEST(WorldCuts, ChangeNoOtherDelay) {
  const auto arrivals = [](bool cut) {
    Stage stage({.nodes = 3, .link = varying()});
    stage.start_all();
    if (cut) stage.world.set_partition(partition(3, {{1, 3}}));
    for (std::uint32_t i = 0; i < 50; ++i) {
      stage.run(10ms * i);
      stage.say(1, 0, i);
    }
    stage.run(1s);
    std::vector<std::string> at_two;
    for (const std::string& line : stage.watch.lines)
      if (line.find(" 2 hears") != std::string::npos) at_two.push_back(line);
    EXPECT_EQ(at_two.size(), 50U);
    return at_two;
  };
  EXPECT_EQ(arrivals(true), arrivals(false));
}

TEST(World, CarriesNothingUnplugged) {
  Stage stage({.nodes = 2, .link = steady(1ms)});
  stage.start_all();
  stage.world.set_connected(false);
  stage.say(1, 0, 7);
  stage.world.set_connected(true);
  stage.say(1, 0, 8);
  stage.run(1s);
  EXPECT_EQ(stage.watch.lines, (Lines{"1 2 hears 8 from 1"}));
  EXPECT_EQ(stage.watch.numbers.size(), 2U);  // both were sent
}

TEST(World, ACrashLosesEverything) {
  Stage stage({.nodes = 2, .link = steady(2ms)});
  stage.start_all();
  const Incarnation first = stage.world.machine(kTwo).incarnation();
  stage.say(1, 2, 1);
  stage.run(5ms);
  EXPECT_EQ(stage.world.machine(kTwo).heard(), 1);
  stage.set(2, Do::set_first, 10ms);
  stage.say(1, 2, 2);
  stage.world.crash(kTwo);
  stage.world.crash(kTwo);  // again: nothing
  EXPECT_FALSE(stage.world.up(kTwo));
  stage.say(2, 1, 3);  // the dead say nothing
  stage.run(10ms);
  stage.world.start(kTwo);
  EXPECT_NE(stage.world.machine(kTwo).incarnation(), first);
  EXPECT_EQ(stage.world.machine(kTwo).heard(), 0);
  EXPECT_EQ(stage.world.incarnation_count(kTwo), 2U);
  stage.run(1s);
  EXPECT_EQ(stage.watch.lines, (Lines{"2 2 hears 1 from 1", "nobody hears 2 at 2"}));
  EXPECT_EQ(stage.watch.disturbances, (Lines{"1 starts", "2 starts", "2 crashes", "2 starts"}));
}

// Which life a node is in decides its number, not what happened meanwhile.
TEST(World, IncarnationsBelongToTheSeed) {
  const auto second_life = [](std::uint64_t seed, bool busy) {
    Stage stage({.nodes = 2, .seed = seed});
    stage.start_all();
    if (busy) {
      stage.say(1, 0, 7);
      stage.say(2, 0, 8);
    }
    stage.world.crash(kTwo);
    stage.world.start(kTwo);
    return stage.world.machine(kTwo).incarnation();
  };
  EXPECT_EQ(second_life(1, false), second_life(1, true));
  EXPECT_NE(second_life(1, false), second_life(2, false));
}

TEST(World, APausedNodeReadsItsMailBeforeItsTimers) {
  Stage stage({.nodes = 2, .link = steady(1ms)});
  stage.start_all();
  stage.set(2, Do::set_first, 5ms);
  stage.set(2, Do::set_second, 15ms);
  stage.run(2ms);
  stage.world.pause(kTwo);
  EXPECT_TRUE(stage.world.paused(kTwo));
  stage.say(1, 2, 1);
  stage.say(2, 1, 9);  // a paused node does nothing
  stage.run(7ms);
  stage.say(1, 2, 2);
  stage.run(10ms);
  EXPECT_TRUE(stage.watch.lines.empty());
  stage.world.resume(kTwo);
  EXPECT_EQ(stage.watch.lines,
            (Lines{"10 2 hears 1 from 1", "10 2 hears 2 from 1", "10 2 wakes for 0"}));
  stage.run(20ms);
  EXPECT_EQ(stage.watch.lines.back(), "15 2 wakes for 1");
  EXPECT_EQ(stage.watch.disturbances, (Lines{"1 starts", "2 starts", "2 pauses", "2 resumes"}));
}

TEST(World, APausedNodesMailboxIsBounded) {
  constexpr std::uint32_t kRoom = 1 << 16;
  Stage stage({.nodes = 2, .link = steady(1ms)});
  stage.start_all();
  stage.world.pause(kTwo);
  for (std::uint32_t i = 1; i <= kRoom + 1; ++i) stage.say(1, 2, i);
  stage.run(2ms);
  EXPECT_EQ(stage.watch.lines, (Lines{"nobody hears 65537 at 2"}));
  stage.world.resume(kTwo);
  EXPECT_EQ(stage.world.machine(kTwo).heard(), int{kRoom});
}

TEST(World, WhatWaitsDiesWithTheNode) {
  Stage stage({.nodes = 3, .link = steady(1ms)});
  stage.start_all();
  stage.world.pause(kTwo);
  stage.world.pause(kThree);
  stage.say(1, 0, 7);
  stage.run(2ms);
  stage.world.crash(kTwo);
  stage.world.start(kTwo);
  stage.world.resume(kTwo);  // it does not sleep: nothing
  stage.world.pause(kTwo);
  stage.world.resume(kTwo);  // what waited for its earlier life does not come now either
  stage.world.resume(kThree);
  stage.run(1s);
  EXPECT_EQ(stage.watch.lines, (Lines{"2 3 hears 7 from 1"}));
}

}  // namespace
}  // namespace tempo::sim
