// Faults injected into World: partitions, crashes, restarts and pauses.
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lab/sim/world_test_machine.h"

namespace tempo::sim {
namespace {

TEST(WorldPartitions, MayBlockOneDirection) {
  RecordedRun run({.nodes = 3, .link = steady(1ms)});
  run.start_all();
  run.world.set_partition(partition(3, {{1, 2}}));
  EXPECT_FALSE(run.world.reaches(kOne, kTwo));
  EXPECT_TRUE(run.world.reaches(kTwo, kOne));
  EXPECT_FALSE(run.world.whole());
  run.send(1, 0, 7);
  run.send(2, 1, 8);
  run.run(2ms);
  EXPECT_EQ(run.watch.lines, (Lines{"1 3 receives 7 from 1", "1 1 receives 8 from 2"}));
  EXPECT_EQ(run.watch.losses, (std::set<std::uint32_t>{7}));
}

TEST(WorldPartitions, BlockBothDirectionsUntilHealed) {
  RecordedRun run({.nodes = 3, .link = steady(1ms)});
  run.start_all();
  run.send(1, 2, 1);  // under way before the partition: still arrives
  run.world.set_partition(partition(3, {{1, 2}, {2, 1}, {3, 2}, {2, 3}}));
  run.send(1, 0, 2);
  run.send(2, 0, 3);
  run.run(2ms);
  EXPECT_EQ(run.watch.lines, (Lines{"1 2 receives 1 from 1", "1 3 receives 2 from 1"}));
  run.world.set_partition({});
  EXPECT_TRUE(run.world.whole());
  run.send(1, 0, 4);
  run.run(4ms);
  EXPECT_EQ(run.watch.lines, (Lines{"1 2 receives 1 from 1", "1 3 receives 2 from 1",
                                    "3 2 receives 4 from 1", "3 3 receives 4 from 1"}));
  EXPECT_EQ(run.watch.disturbances, (Lines{"1 starts", "2 starts", "3 starts", "cut", "whole"}));
}

// The delay of a blocked message is drawn all the same, so healing the partition later changes no
// delay.
TEST(WorldPartitions, ChangeNoOtherDelay) {
  const auto arrivals = [](bool cut) {
    RecordedRun run({.nodes = 3, .link = varying()});
    run.start_all();
    if (cut) run.world.set_partition(partition(3, {{1, 3}}));
    for (std::uint32_t i = 0; i < 50; ++i) {
      run.run(10ms * i);
      run.send(1, 0, i);
    }
    run.run(1s);
    std::vector<std::string> at_two;
    for (const std::string& line : run.watch.lines)
      if (line.find(" 2 receives") != std::string::npos) at_two.push_back(line);
    EXPECT_EQ(at_two.size(), 50U);
    return at_two;
  };
  EXPECT_EQ(arrivals(true), arrivals(false));
}

TEST(World, CarriesNothingWhileDisconnected) {
  RecordedRun run({.nodes = 2, .link = steady(1ms)});
  run.start_all();
  run.world.set_connected(false);
  run.send(1, 0, 7);
  run.world.set_connected(true);
  run.send(1, 0, 8);
  run.run(1s);
  EXPECT_EQ(run.watch.lines, (Lines{"1 2 receives 8 from 1"}));
  EXPECT_EQ(run.watch.numbers.size(), 2U);  // both were sent
}

TEST(World, LosesTheStateOfACrashedNode) {
  RecordedRun run({.nodes = 2, .link = steady(2ms)});
  run.start_all();
  const Incarnation first = run.world.machine(kTwo).incarnation();
  run.send(1, 2, 1);
  run.run(5ms);
  EXPECT_EQ(run.world.machine(kTwo).received_count(), 1);
  run.set(2, Do::set_first, 10ms);
  run.send(1, 2, 2);
  run.world.crash(kTwo);
  run.world.crash(kTwo);  // no effect
  EXPECT_FALSE(run.world.up(kTwo));
  run.send(2, 1, 3);  // a crashed node sends nothing
  run.run(10ms);
  run.world.start(kTwo);
  EXPECT_NE(run.world.machine(kTwo).incarnation(), first);
  EXPECT_EQ(run.world.machine(kTwo).received_count(), 0);
  EXPECT_EQ(run.world.incarnation_count(kTwo), 2U);
  run.run(1s);
  EXPECT_EQ(run.watch.lines, (Lines{"2 2 receives 1 from 1", "nobody receives 2 at 2"}));
  EXPECT_EQ(run.watch.disturbances, (Lines{"1 starts", "2 starts", "2 crashes", "2 starts"}));
}

// An incarnation depends only on the seed, the node and the count of starts, not on other events.
TEST(World, DerivesIncarnationsFromTheSeed) {
  const auto second_incarnation = [](std::uint64_t seed, bool busy) {
    RecordedRun run({.nodes = 2, .seed = seed});
    run.start_all();
    if (busy) {
      run.send(1, 0, 7);
      run.send(2, 0, 8);
    }
    run.world.crash(kTwo);
    run.world.start(kTwo);
    return run.world.machine(kTwo).incarnation();
  };
  EXPECT_EQ(second_incarnation(1, false), second_incarnation(1, true));
  EXPECT_NE(second_incarnation(1, false), second_incarnation(2, false));
}

TEST(World, DeliversWaitingMessagesBeforeTimersAfterAPause) {
  RecordedRun run({.nodes = 2, .link = steady(1ms)});
  run.start_all();
  run.set(2, Do::set_first, 5ms);
  run.set(2, Do::set_second, 15ms);
  run.run(2ms);
  run.world.pause(kTwo);
  EXPECT_TRUE(run.world.paused(kTwo));
  run.send(1, 2, 1);
  run.send(2, 1, 9);  // a paused node does nothing
  run.run(7ms);
  run.send(1, 2, 2);
  run.run(10ms);
  EXPECT_TRUE(run.watch.lines.empty());
  run.world.resume(kTwo);
  EXPECT_EQ(run.watch.lines,
            (Lines{"10 2 receives 1 from 1", "10 2 receives 2 from 1", "10 2 wakes for 0"}));
  run.run(20ms);
  EXPECT_EQ(run.watch.lines.back(), "15 2 wakes for 1");
  EXPECT_EQ(run.watch.disturbances, (Lines{"1 starts", "2 starts", "2 pauses", "2 resumes"}));
}

TEST(World, BoundsTheMessagesThatWaitForPausedNodes) {
  constexpr std::uint32_t kLimit = 1 << 16;
  RecordedRun run({.nodes = 2, .link = steady(1ms)});
  run.start_all();
  run.world.pause(kTwo);
  for (std::uint32_t i = 1; i <= kLimit + 1; ++i) run.send(1, 2, i);
  run.run(2ms);
  EXPECT_EQ(run.watch.lines, (Lines{"nobody receives 65537 at 2"}));
  run.world.resume(kTwo);
  EXPECT_EQ(run.world.machine(kTwo).received_count(), int{kLimit});
}

TEST(World, DropsWaitingMessagesWhenTheNodeCrashes) {
  RecordedRun run({.nodes = 3, .link = steady(1ms)});
  run.start_all();
  run.world.pause(kTwo);
  run.world.pause(kThree);
  run.send(1, 0, 7);
  run.run(2ms);
  run.world.crash(kTwo);
  run.world.start(kTwo);
  run.world.resume(kTwo);  // not paused: no effect
  run.world.pause(kTwo);
  run.world.resume(kTwo);  // messages for the earlier incarnation do not arrive now either
  run.world.resume(kThree);
  run.run(1s);
  EXPECT_EQ(run.watch.lines, (Lines{"2 3 receives 7 from 1"}));
}

}  // namespace
}  // namespace tempo::sim
