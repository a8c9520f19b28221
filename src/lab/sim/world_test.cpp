// The World in order: messages, timers, clocks, and what its driver may ask for.
#include "lab/sim/world.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "lab/sim/world_test_parrot.h"

namespace tempo::sim {
namespace {

TEST(World, DeliversAfterTheDelay) {
  Stage stage({.nodes = 3, .link = steady(1ms)});
  stage.start_all();
  stage.say(1, 2, 7);
  stage.say(1, 0, 8);
  stage.run(1ms);
  EXPECT_TRUE(stage.watch.lines.empty());  // an instant belongs to what comes after it
  stage.run(2ms);
  EXPECT_EQ(stage.watch.lines,
            (Lines{"1 2 hears 7 from 1", "1 2 hears 8 from 1", "1 3 hears 8 from 1"}));
  EXPECT_EQ(stage.watch.numbers, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(stage.world.events(), 3U);
}

TEST(World, DeliversMessagesBeforeTimers) {
  Stage stage({.nodes = 2, .link = steady(5ms)});
  stage.start_all();
  stage.set(2, Do::set_second, 5ms);
  stage.set(2, Do::set_first, 5ms);
  stage.set(1, Do::set_first, 5ms);
  stage.say(1, 2, 7);
  stage.say(1, 2, 8);
  stage.run(6ms);
  // Of timers due at one instant the one named first; of nodes, the one whose timer was set first.
  EXPECT_EQ(stage.watch.lines, (Lines{"5 2 hears 7 from 1", "5 2 hears 8 from 1", "5 2 wakes for 0",
                                      "5 2 wakes for 1", "5 1 wakes for 0"}));
}

TEST(World, WakesAtTheNewTimeWhenATimerIsMoved) {
  Stage stage({.nodes = 1});
  stage.start_all();
  stage.set(1, Do::set_first, 10ms);
  stage.run(5ms);
  stage.set(1, Do::set_first, 15ms);  // later: the old event finds nothing due
  stage.run(12ms);
  EXPECT_TRUE(stage.watch.lines.empty());
  stage.set(1, Do::set_second, 1ms);  // earlier than what is waited for
  stage.run(30ms);
  EXPECT_EQ(stage.watch.lines, (Lines{"13 1 wakes for 1", "20 1 wakes for 0"}));
  stage.set(1, Do::set_first, 10ms);
  stage.run(35ms);
  stage.set(1, Do::set_first, 15ms);  // later, and nothing else happens meanwhile
  stage.run(60ms);
  EXPECT_EQ(stage.watch.lines.back(), "50 1 wakes for 0");
}

TEST(World, StopsWhenAsked) {
  Stage stage({.nodes = 2, .link = steady(1ms)});
  stage.start_all();
  for (std::uint32_t i = 1; i <= 5; ++i) stage.say(1, 2, i);
  const auto heard_three = [&] { return stage.watch.lines.size() >= 3; };
  EXPECT_TRUE(stage.world.run_until(Instant{10ms}, heard_three));
  EXPECT_EQ(stage.watch.lines.size(), 3U);
  EXPECT_EQ(stage.world.now(), Instant{1ms});
  EXPECT_TRUE(stage.world.run_until(Instant{10ms}, heard_three));  // true already
  EXPECT_EQ(stage.watch.lines.size(), 3U);
  EXPECT_FALSE(stage.world.run_until(Instant{10ms}, [] { return false; }));
  EXPECT_EQ(stage.watch.lines.size(), 5U);
  EXPECT_EQ(stage.world.now(), Instant{10ms});
}

TEST(World, BroadcastsInOneOrderIfTheLinkDoes) {
  Link link = varying();
  const auto spread = [&](bool same_order) {
    link.same_order = same_order;
    Stage stage({.nodes = 5, .link = link});
    stage.start_all();
    stage.say(1, 0, 7);
    stage.run(1s);
    const auto& when = stage.watch.arrivals.at(7);
    EXPECT_EQ(when.size(), 4U);
    return *std::ranges::max_element(when) - *std::ranges::min_element(when);
  };
  EXPECT_EQ(spread(true), 0ns);
  EXPECT_GT(spread(false), 0ns);
}

TEST(World, CarriesWhatOthersInject) {
  Stage stage({.nodes = 3, .link = steady(1ms)});
  stage.start_all();
  stage.world.crash(kOne);
  stage.world.inject(kOne, kTwo, {7});
  stage.world.inject(kOne, kNobody, {8});
  stage.run(2ms);
  EXPECT_EQ(stage.watch.lines,
            (Lines{"1 2 hears 7 from 1", "1 2 hears 8 from 1", "1 3 hears 8 from 1"}));
}

TEST(World, FateDecidesForEveryCopy) {
  Stage stage({.nodes = 4, .link = steady(1ms)});
  stage.start_all();
  std::vector<std::string> asked;
  stage.world.set_fate([&](NodeId from, NodeId to, const Word& word) {
    asked.push_back(fmt::format("{}->{} {}", index(from) + 1, index(to) + 1, word.number));
    return DeliveryDecision{.lost = to == kTwo, .twice = to == kThree, .extra = index(to) == 3 ? 5ms : 0ms};
  });
  stage.say(1, 0, 7);
  stage.run(1s);
  EXPECT_EQ(asked, (Lines{"1->2 7", "1->3 7", "1->4 7"}));
  EXPECT_EQ(stage.watch.lines,
            (Lines{"1 3 hears 7 from 1", "2 3 hears 7 from 1", "6 4 hears 7 from 1"}));
  EXPECT_EQ(stage.watch.losses, (std::set<std::uint32_t>{7}));
}

TEST(World, ALinkMayChange) {
  Stage stage({.nodes = 2, .link = steady(1ms)});
  stage.start_all();
  stage.say(1, 2, 1);
  stage.world.set_link(steady(4ms));
  stage.say(1, 2, 2);
  stage.run(1s);
  EXPECT_EQ(stage.watch.lines, (Lines{"1 2 hears 1 from 1", "4 2 hears 2 from 1"}));
  EXPECT_EQ(stage.watch.disturbances.back(), "link changes");
}

// What is sent later may arrive at the same instant, but not sooner; others are not held up.
TEST(World, ALinkMayKeepItsOrder) {
  for (const bool kept : {false, true}) {
    Link link = varying();
    link.in_order = kept;
    Stage stage({.nodes = 3, .link = link});
    stage.start_all();
    for (std::uint32_t i = 0; i < 200; ++i) {
      stage.say(1, 2, i);
      stage.say(1, 3, 1'000 + i);
      stage.run((i + 1) * 50us);
    }
    stage.run(1s);
    int overtaken = 0;
    for (std::uint32_t i = 0; i + 1 < 200; ++i)
      for (const std::uint32_t word : {i, 1'000 + i})
        overtaken += stage.watch.arrivals[word + 1][0] < stage.watch.arrivals[word][0] ? 1 : 0;
    EXPECT_EQ(overtaken == 0, kept);
    EXPECT_NE(stage.watch.arrivals[100], stage.watch.arrivals[1'100]);
  }
}

// A timer of ten seconds on a clock that is fast or slow fires when that clock shows ten seconds.
TEST(WorldClocks, RunAtTheirOwnRates) {
  for (const std::int64_t ppb :
       {100'000L, -100'000L, 1L, -1L, 0L, 50'000'000L, -900'000'000L, 8'000'000'000L}) {
    Stage stage({.nodes = 1});
    stage.world.set_rate(kOne, Ppb{ppb});
    stage.start_all();
    stage.set(1, Do::set_first, 10s);
    ASSERT_TRUE(stage.world.run_until(Instant{200s}, [&] { return !stage.watch.lines.empty(); }))
        << ppb;
    const double rate = 1 + static_cast<double>(ppb) * 1e-9;
    const double expected = 10e9 / rate;
    EXPECT_NEAR(static_cast<double>(stage.world.now().time_since_epoch().count()), expected,
                2 + 1 / rate)  // a slow clock stands still for a while
        << ppb;
    EXPECT_GE(stage.world.local_now(kOne), Instant{10s}) << ppb;
    EXPECT_LE(stage.world.local_now(kOne),
              Instant{10s} + 1ns + Nanos{ppb > 0 ? ppb / 1'000'000'000 : 0})
        << ppb;
  }
}

TEST(WorldClocks, DriftApart) {
  Stage stage({.nodes = 3});
  stage.world.set_rate(kOne, Ppb{100'000});
  stage.world.set_rate(kTwo, Ppb{-100'000});
  stage.start_all();
  stage.run(1000s);
  EXPECT_EQ(stage.world.local_now(kOne), Instant{1000s + 100ms});
  EXPECT_EQ(stage.world.local_now(kTwo), Instant{1000s - 100ms});
  EXPECT_EQ(stage.world.local_now(kThree), Instant{1000s});
}

// A storm of events in no time: the World stands still instead of running for ever.
TEST(World, StandsStillInAStorm) {
  Stage stage(
      {.nodes = 2, .link = steady(1ns), .most_events = 20'000, .events_per_second = 10'000});
  stage.start_all();
  for (std::uint32_t i = 0; i < 100'000; ++i) stage.say(1, 2, i);
  stage.run(1ms);
  EXPECT_TRUE(stage.world.exhausted());
  EXPECT_GT(stage.world.events(), 20'000U);
  EXPECT_LT(stage.world.events(), 40'000U);
  const std::uint64_t before = stage.world.events();
  stage.run(2ms);
  EXPECT_EQ(stage.world.events(), before);

  Stage busy({.nodes = 2, .link = steady(1ns), .most_events = 20'000});  // many, but not too many
  busy.start_all();
  for (std::uint32_t i = 0; i < 100'000; ++i) busy.say(1, 2, i);
  busy.run(1ms);
  EXPECT_FALSE(busy.world.exhausted());
  EXPECT_EQ(busy.world.events(), 100'000U);
}

TEST(WorldDeathTest, RefusesWhatCannotBe) {
  Stage stage({.nodes = 2});
  stage.start_all();
  EXPECT_DEATH(stage.world.start(kOne), "!node.up");
  EXPECT_DEATH(stage.world.start(kThree), "index\\(id\\) < options_.nodes");
  EXPECT_DEATH(stage.world.set_rate(kOne, Ppb{1}), "now_ == Instant");
  EXPECT_DEATH(stage.world.set_partition({true}), "cuts.size\\(\\)");
  stage.run(1ms);
  EXPECT_DEATH(stage.run(0ms), "limit >= now_");
}

}  // namespace
}  // namespace tempo::sim
