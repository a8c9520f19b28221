// World without faults: messages, timers, clocks and the functions for its driver.
#include "lab/sim/world.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "lab/sim/world_test_machine.h"

namespace tempo::sim {
namespace {

TEST(World, DeliversAfterTheDelay) {
  RecordedRun run({.nodes = 3, .link = steady(1ms)});
  run.start_all();
  run.send(1, 2, 7);
  run.send(1, 0, 8);
  run.run(1ms);
  EXPECT_TRUE(run.watch.lines.empty());  // run_until excludes events at its limit
  run.run(2ms);
  EXPECT_EQ(run.watch.lines,
            (Lines{"1 2 receives 7 from 1", "1 2 receives 8 from 1", "1 3 receives 8 from 1"}));
  EXPECT_EQ(run.watch.numbers, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(run.world.events(), 3U);
}

TEST(World, DeliversMessagesBeforeTimers) {
  RecordedRun run({.nodes = 2, .link = steady(5ms)});
  run.start_all();
  run.set(2, Do::set_second, 5ms);
  run.set(2, Do::set_first, 5ms);
  run.set(1, Do::set_first, 5ms);
  run.send(1, 2, 7);
  run.send(1, 2, 8);
  run.run(6ms);
  // Order of timers at one instant: within a node by name, across nodes by the time of setting.
  EXPECT_EQ(run.watch.lines, (Lines{"5 2 receives 7 from 1", "5 2 receives 8 from 1",
                                    "5 2 wakes for 0", "5 2 wakes for 1", "5 1 wakes for 0"}));
}

TEST(World, WakesAtTheNewTimeWhenATimerIsMoved) {
  RecordedRun run({.nodes = 1});
  run.start_all();
  run.set(1, Do::set_first, 10ms);
  run.run(5ms);
  run.set(1, Do::set_first, 15ms);  // postponed: the old timer event finds nothing due
  run.run(12ms);
  EXPECT_TRUE(run.watch.lines.empty());
  run.set(1, Do::set_second, 1ms);  // earlier than the pending timer event
  run.run(30ms);
  EXPECT_EQ(run.watch.lines, (Lines{"13 1 wakes for 1", "20 1 wakes for 0"}));
  run.set(1, Do::set_first, 10ms);
  run.run(35ms);
  run.set(1, Do::set_first, 15ms);  // postponed, with no other event before it
  run.run(60ms);
  EXPECT_EQ(run.watch.lines.back(), "50 1 wakes for 0");
}

TEST(World, StopsWhenAsked) {
  RecordedRun run({.nodes = 2, .link = steady(1ms)});
  run.start_all();
  for (std::uint32_t i = 1; i <= 5; ++i) run.send(1, 2, i);
  const auto received_three = [&] { return run.watch.lines.size() >= 3; };
  EXPECT_TRUE(run.world.run_until(Instant{10ms}, received_three));
  EXPECT_EQ(run.watch.lines.size(), 3U);
  EXPECT_EQ(run.world.now(), Instant{1ms});
  EXPECT_TRUE(run.world.run_until(Instant{10ms}, received_three));  // already true
  EXPECT_EQ(run.watch.lines.size(), 3U);
  EXPECT_FALSE(run.world.run_until(Instant{10ms}, [] { return false; }));
  EXPECT_EQ(run.watch.lines.size(), 5U);
  EXPECT_EQ(run.world.now(), Instant{10ms});
}

TEST(World, BroadcastsWithOneDelayIfTheLinkDoes) {
  Link link = varying();
  const auto spread = [&](bool same_order) {
    link.same_order = same_order;
    RecordedRun run({.nodes = 5, .link = link});
    run.start_all();
    run.send(1, 0, 7);
    run.run(1s);
    const auto& when = run.watch.arrivals.at(7);
    EXPECT_EQ(when.size(), 4U);
    return *std::ranges::max_element(when) - *std::ranges::min_element(when);
  };
  EXPECT_EQ(spread(true), 0ns);
  EXPECT_GT(spread(false), 0ns);
}

TEST(World, CarriesInjectedMessages) {
  RecordedRun run({.nodes = 3, .link = steady(1ms)});
  run.start_all();
  run.world.crash(kOne);
  run.world.inject(kOne, kTwo, {7});
  run.world.inject(kOne, kNobody, {8});
  run.run(2ms);
  EXPECT_EQ(run.watch.lines,
            (Lines{"1 2 receives 7 from 1", "1 2 receives 8 from 1", "1 3 receives 8 from 1"}));
}

TEST(World, AsksTheDeliveryFunctionForEveryCopy) {
  RecordedRun run({.nodes = 4, .link = steady(1ms)});
  run.start_all();
  std::vector<std::string> asked;
  run.world.set_delivery([&](NodeId from, NodeId to, const TestMessage& message) {
    asked.push_back(fmt::format("{}->{} {}", index(from) + 1, index(to) + 1, message.number));
    return DeliveryDecision{
        .lost = to == kTwo, .twice = to == kThree, .extra = index(to) == 3 ? 5ms : 0ms};
  });
  run.send(1, 0, 7);
  run.run(1s);
  EXPECT_EQ(asked, (Lines{"1->2 7", "1->3 7", "1->4 7"}));
  EXPECT_EQ(run.watch.lines,
            (Lines{"1 3 receives 7 from 1", "2 3 receives 7 from 1", "6 4 receives 7 from 1"}));
  EXPECT_EQ(run.watch.losses, (std::set<std::uint32_t>{7}));
}

TEST(World, AppliesANewLinkToLaterMessages) {
  RecordedRun run({.nodes = 2, .link = steady(1ms)});
  run.start_all();
  run.send(1, 2, 1);
  run.world.set_link(steady(4ms));
  run.send(1, 2, 2);
  run.run(1s);
  EXPECT_EQ(run.watch.lines, (Lines{"1 2 receives 1 from 1", "4 2 receives 2 from 1"}));
  EXPECT_EQ(run.watch.disturbances.back(), "link changes");
}

// With in_order a later message may arrive at the same instant but not earlier; other pairs of
// nodes are not delayed.
TEST(World, KeepsTheOrderOfEachPairIfTheLinkDoes) {
  for (const bool kept : {false, true}) {
    Link link = varying();
    link.in_order = kept;
    RecordedRun run({.nodes = 3, .link = link});
    run.start_all();
    for (std::uint32_t i = 0; i < 200; ++i) {
      run.send(1, 2, i);
      run.send(1, 3, 1'000 + i);
      run.run((i + 1) * 50us);
    }
    run.run(1s);
    int overtaken = 0;
    for (std::uint32_t i = 0; i + 1 < 200; ++i)
      for (const std::uint32_t number : {i, 1'000 + i})
        overtaken += run.watch.arrivals[number + 1][0] < run.watch.arrivals[number][0] ? 1 : 0;
    EXPECT_EQ(overtaken == 0, kept);
    EXPECT_NE(run.watch.arrivals[100], run.watch.arrivals[1'100]);
  }
}

// A timer of ten seconds fires when the node's own clock shows ten seconds, fast or slow.
TEST(WorldClocks, RunAtTheirOwnRates) {
  for (const std::int64_t ppb :
       {100'000L, -100'000L, 1L, -1L, 0L, 50'000'000L, -900'000'000L, 8'000'000'000L}) {
    RecordedRun run({.nodes = 1});
    run.world.set_rate(kOne, Ppb{ppb});
    run.start_all();
    run.set(1, Do::set_first, 10s);
    ASSERT_TRUE(run.world.run_until(Instant{200s}, [&] { return !run.watch.lines.empty(); }))
        << ppb;
    const double rate = 1 + static_cast<double>(ppb) * 1e-9;
    const double expected = 10e9 / rate;
    EXPECT_NEAR(static_cast<double>(run.world.now().time_since_epoch().count()), expected,
                2 + 1 / rate)  // a slow clock shows the same nanosecond for a while
        << ppb;
    EXPECT_GE(run.world.local_now(kOne), Instant{10s}) << ppb;
    EXPECT_LE(run.world.local_now(kOne),
              Instant{10s} + 1ns + Nanos{ppb > 0 ? ppb / 1'000'000'000 : 0})
        << ppb;
  }
}

TEST(WorldClocks, DriftApart) {
  RecordedRun run({.nodes = 3});
  run.world.set_rate(kOne, Ppb{100'000});
  run.world.set_rate(kTwo, Ppb{-100'000});
  run.start_all();
  run.run(1000s);
  EXPECT_EQ(run.world.local_now(kOne), Instant{1000s + 100ms});
  EXPECT_EQ(run.world.local_now(kTwo), Instant{1000s - 100ms});
  EXPECT_EQ(run.world.local_now(kThree), Instant{1000s});
}

// A message storm without progress in time: the World stops.
TEST(World, StopsInAMessageStorm) {
  RecordedRun run(
      {.nodes = 2, .link = steady(1ns), .max_events = 20'000, .events_per_second = 10'000});
  run.start_all();
  for (std::uint32_t i = 0; i < 100'000; ++i) run.send(1, 2, i);
  run.run(1ms);
  EXPECT_TRUE(run.world.exhausted());
  EXPECT_GT(run.world.events(), 20'000U);
  EXPECT_LT(run.world.events(), 40'000U);
  const std::uint64_t before = run.world.events();
  run.run(2ms);
  EXPECT_EQ(run.world.events(), before);

  RecordedRun busy(
      {.nodes = 2, .link = steady(1ns), .max_events = 20'000});  // within events_per_second
  busy.start_all();
  for (std::uint32_t i = 0; i < 100'000; ++i) busy.send(1, 2, i);
  busy.run(1ms);
  EXPECT_FALSE(busy.world.exhausted());
  EXPECT_EQ(busy.world.events(), 100'000U);
}

TEST(WorldDeathTest, RefusesInvalidCalls) {
  RecordedRun run({.nodes = 2});
  run.start_all();
  EXPECT_DEATH(run.world.start(kOne), "!node.up");
  EXPECT_DEATH(run.world.start(kThree), "index\\(id\\) < options_.nodes");
  EXPECT_DEATH(run.world.set_rate(kOne, Ppb{1}), "now_ == Instant");
  EXPECT_DEATH(run.world.set_partition({true}), "partition.size\\(\\)");
  run.run(1ms);
  EXPECT_DEATH(run.run(0ms), "limit >= now_");
}

}  // namespace
}  // namespace tempo::sim
