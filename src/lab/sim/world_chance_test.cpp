// Randomness in World: every source has its own stream, and one seed determines all of them.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/sim/tracer.h"
#include "lab/sim/world_test_machine.h"

namespace tempo::sim {
namespace {

using ::testing::IsEmpty;

constexpr std::uint32_t kMessages = 300;

// Node 1 sends kMessages messages to node 2, far apart in time, over this link; returns the record.
Recorder conversation(const Link& link, std::uint64_t seed = 3, bool others_talk = false) {
  RecordedRun run({.nodes = 3, .seed = seed, .link = link});
  run.start_all();
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    run.run(100ms * i);
    run.send(1, 2, i);
    if (others_talk) run.send(3, 0, 1'000'000 + i);
  }
  run.run(100ms * (kMessages + 1));
  return run.watch;
}

// Expects `count` out of kMessages trials to lie within five standard deviations of the mean.
void expect_share(std::size_t count, double chance) {
  EXPECT_NEAR(static_cast<double>(count), kMessages * chance,
              5 * std::sqrt(kMessages * chance * (1 - chance)));
}

TEST(WorldChance, DelaysVaryWithinTheLink) {
  const Recorder record = conversation(varying());
  ASSERT_EQ(record.arrivals.size(), kMessages);
  std::set<Nanos> delays;
  for (const auto& [number, when] : record.arrivals) {
    ASSERT_EQ(when.size(), 1U);
    const Nanos delay = when[0] - Instant{100ms * number};
    EXPECT_TRUE(delay >= 100us && delay <= 2ms);
    delays.insert(delay);
  }
  EXPECT_GT(delays.size(), kMessages / 2);
}

TEST(WorldChance, LossChangesNoOtherDelay) {
  const Recorder without = conversation(varying());
  Link link = varying();
  link.loss = 0.4;
  const Recorder with = conversation(link);
  expect_share(with.losses.size(), 0.4);
  EXPECT_EQ(with.arrivals.size() + with.losses.size(), kMessages);
  for (const auto& [number, when] : with.arrivals)
    EXPECT_EQ(when, without.arrivals.at(number)) << number;
}

TEST(WorldChance, DuplicationChangesNoFirstCopy) {
  const Recorder without = conversation(varying());
  Link link = varying();
  link.duplicate = 0.4;
  const Recorder with = conversation(link);
  std::size_t twice = 0;
  for (const auto& [number, when] : with.arrivals) {
    EXPECT_EQ(when[0], without.arrivals.at(number)[0]) << number;
    if (when.size() == 1) continue;
    ASSERT_EQ(when.size(), 2U);
    EXPECT_TRUE(when[1] - when[0] >= 100us && when[1] - when[0] <= 2ms);
    ++twice;
  }
  expect_share(twice, 0.4);
}

TEST(WorldChance, ReorderingDelaysSomeAndNoOthers) {
  const Recorder without = conversation(varying());
  Link link = varying();
  link.reorder = 0.4;
  const Recorder with = conversation(link);
  std::size_t late = 0;
  for (const auto& [number, when] : with.arrivals) {
    const Nanos longer = when[0] - without.arrivals.at(number)[0];
    if (longer == 0ns) continue;
    EXPECT_TRUE(longer >= 10ms && longer <= 20ms) << number;
    ++late;
  }
  expect_share(late, 0.4);
}

// Adding one fault does not change the others.
TEST(WorldChance, EveryFaultHasItsOwnStream) {
  Link link = varying();
  link.loss = 0.3;
  const Recorder loss = conversation(link);
  link.loss = 0;
  link.duplicate = 0.3;
  const Recorder duplicate = conversation(link);
  link.duplicate = 0;
  link.reorder = 0.3;
  const Recorder reorder = conversation(link);
  link.loss = link.duplicate = 0.3;
  const Recorder all = conversation(link);
  EXPECT_EQ(all.losses, loss.losses);
  std::vector<std::uint32_t> duplicated_otherwise;
  std::vector<std::uint32_t> late_otherwise;
  for (const auto& [number, when] : all.arrivals) {
    if (when.size() != duplicate.arrivals.at(number).size()) duplicated_otherwise.push_back(number);
    if (when[0] != reorder.arrivals.at(number)[0]) late_otherwise.push_back(number);
  }
  EXPECT_THAT(duplicated_otherwise, IsEmpty());
  EXPECT_THAT(late_otherwise, IsEmpty());
}

// Loss and reordering do not change the second copies of duplicated messages.
TEST(WorldChance, LossAndReorderingChangeNoSecondCopy) {
  Link link = varying();
  link.duplicate = 0.3;
  const Recorder duplicate = conversation(link);
  link.loss = 0.3;
  link.reorder = 0.3;
  const Recorder all = conversation(link);
  std::vector<std::uint32_t> copied_otherwise;
  for (const auto& [number, when] : all.arrivals) {
    if (when.size() < 2) continue;
    const std::vector<Instant>& before = duplicate.arrivals.at(number);
    if (when[1] - when[0] != before[1] - before[0]) copied_otherwise.push_back(number);
  }
  EXPECT_THAT(copied_otherwise, IsEmpty());
}

TEST(WorldChance, EveryNodeHasItsOwnStream) {
  const Recorder alone = conversation(varying());
  const Recorder among_others = conversation(varying(), 3, true);
  EXPECT_GT(among_others.arrivals.size(), alone.arrivals.size());
  for (const auto& [number, when] : alone.arrivals)
    EXPECT_EQ(when, among_others.arrivals.at(number));
}

// Two nodes that do the same at the same time draw different values.
TEST(WorldChance, NoTwoNodesHaveTheSameStream) {
  Link link = varying();
  link.loss = link.duplicate = link.reorder = 0.3;
  for (const bool rough : {false, true}) {
    RecordedRun run({.nodes = 3, .link = rough ? link : varying()});
    run.start_all();
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      run.run(100ms * i);
      run.send(1, 3, i);
      run.send(2, 3, 1000 + i);
    }
    run.run(100ms * (kMessages + 1));
    std::size_t same_delay = 0;
    std::size_t same_fate = 0;
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      const std::vector<Instant>& of_one = run.watch.arrivals[i];
      const std::vector<Instant>& of_two = run.watch.arrivals[1000 + i];
      same_delay += !of_one.empty() && of_one == of_two;
      same_fate += of_one.size() == of_two.size();
    }
    EXPECT_LT(same_delay, 3U);
    if (rough) {
      EXPECT_LT(same_fate, kMessages * 3 / 4);
    }
  }
}

TEST(WorldChance, MachinesDrawFromTheirOwnStreams) {
  // Draws of node 2. `talk`: node 2 also sends; `both`: node 1 also draws.
  const auto draws = [](const Link& link, std::uint64_t seed, bool talk = true, bool both = true) {
    RecordedRun run({.nodes = 2, .seed = seed, .link = link});
    run.start_all();
    Lines all;
    for (std::uint32_t i = 0; i < 20; ++i) {
      if (talk) run.send(2, 1, i);
      run.world.command(kTwo, {.what = Do::draw, .number = 1'000'000});
      all.push_back(run.watch.lines.back());
      if (!both) continue;
      run.world.command(kOne, {.what = Do::draw, .number = 1'000'000});
      EXPECT_NE(run.watch.lines.back().substr(4), all.back().substr(4));
    }
    return all;
  };
  Link rough = varying();
  rough.loss = rough.duplicate = rough.reorder = 0.5;
  EXPECT_EQ(draws(varying(), 1), draws(rough, 1));
  EXPECT_EQ(draws(varying(), 1), draws(varying(), 1, false));
  EXPECT_EQ(draws(varying(), 1), draws(varying(), 1, true, false));
  EXPECT_NE(draws(varying(), 1), draws(varying(), 2));
}

std::uint64_t hash_of_a_rough_run(std::uint64_t seed) {
  Link link = varying();
  link.loss = link.duplicate = link.reorder = 0.2;
  TestRun<Tracer> run({.nodes = 4, .seed = seed, .link = link}, Tracer(false));
  run.start_all();
  for (std::uint32_t i = 0; i < 100; ++i) {
    run.run(1ms * i);
    run.send(static_cast<int>(i % 4) + 1, 0, i);
    if (i == 40) run.world.crash(kTwo);
    if (i == 60) run.world.start(kTwo);
  }
  run.run(1s);
  return run.watch.trace().hash();
}

TEST(WorldChance, OneSeedDecidesEverything) {
  EXPECT_EQ(hash_of_a_rough_run(5), hash_of_a_rough_run(5));
  EXPECT_NE(hash_of_a_rough_run(5), hash_of_a_rough_run(6));
  EXPECT_NE(conversation(varying(), 5).arrivals, conversation(varying(), 6).arrivals);
}

}  // namespace
}  // namespace tempo::sim
