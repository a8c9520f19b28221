// The toy machines in the simulator: the same classes in seeded worlds with faults.
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "lab/sim/world.h"
#include "machine/fields.h"
#include "toys.h"

namespace tempo::toys {
namespace {

using sim::Delay;
using sim::Link;
using sim::World;

constexpr Instant at(Nanos span) { return Instant{span}; }

template <class M>
void start_all(World<M>& world) {
  for (std::uint32_t i = 0; i < world.size(); ++i) world.start(NodeId{i});
}

// Returns true if `holds(machine, node)` is true for every node that is up.
template <class M, class Holds>
bool everywhere(const World<M>& world, Holds holds) {
  for (std::uint32_t i = 0; i < world.size(); ++i)
    if (world.up(NodeId{i}) && !holds(world.machine(NodeId{i}), NodeId{i})) return false;
  return true;
}

template <class M>
std::string checked(const World<M>& world) {
  for (std::uint32_t i = 0; i < world.size(); ++i)
    if (const char* broken = world.machine(NodeId{i}).check()) return broken;
  return "";
}

template <class M>
std::string state_of(const World<M>& world) {
  std::string state;
  for (std::uint32_t i = 0; i < world.size(); ++i)
    state += packed(world.machine(NodeId{i}), world.now());
  return state;
}

// With delays below 2 ms no heartbeat arrives more than 1.002 s after the previous one.
TEST(HeartbeatInTheSimulator, TrustsLiveNodesAndSuspectsCrashedNodesInTime) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    sim::NoWatch watch;
    World<Heartbeat> world{{.nodes = 3, .seed = seed},
                           [](NodeId, Incarnation) { return Heartbeat{kHeartbeat}; },
                           watch};
    const auto trusts_all = [&](const Heartbeat& toy, NodeId self) {
      for (std::uint32_t i = 0; i < 3; ++i)
        if (NodeId{i} != self && !toy.trusts(NodeId{i})) return false;
      return true;
    };
    start_all(world);
    world.run_until(at(2ms));  // the first heartbeat of every node has arrived
    const auto some_node_suspects = [&] { return !everywhere(world, trusts_all); };
    EXPECT_FALSE(world.run_until(at(100s), some_node_suspects)) << "seed " << seed;

    world.crash(node_at(2));
    const auto suspects_the_crashed_node = [](const Heartbeat& toy, NodeId) {
      return !toy.trusts(node_at(2));
    };
    world.run_until(world.now() + kHeartbeat.timeout + 2ms);
    EXPECT_TRUE(everywhere(world, suspects_the_crashed_node)) << "seed " << seed;
    EXPECT_TRUE(world.machine(node_at(0)).trusts(node_at(1))) << "seed " << seed;
    EXPECT_EQ(checked(world), "");

    world.start(node_at(2));
    world.run_until(world.now() + 2ms);
    EXPECT_FALSE(everywhere(world, suspects_the_crashed_node)) << "seed " << seed;
  }
}

TEST(HeartbeatInTheSimulator, SuspectsLiveNodesThatAreCutOff) {
  sim::NoWatch watch;
  World<Heartbeat> world{
      {.nodes = 2}, [](NodeId, Incarnation) { return Heartbeat{kHeartbeat}; }, watch};
  start_all(world);
  world.run_until(at(10s));
  world.set_delivery([](NodeId from, NodeId, const Nothing&) {
    return sim::DeliveryDecision{.lost = from == node_at(0)};
  });
  world.run_until(at(20s));
  EXPECT_FALSE(world.machine(node_at(1)).trusts(node_at(0)));
  EXPECT_TRUE(world.machine(node_at(0)).trusts(node_at(1)));
}

Link bad_link() {
  return {.delay = Delay::uniform(1ms, 50ms), .loss = 0.3, .duplicate = 0.2, .reorder = 0.2};
}

TEST(LotsInTheSimulator, AgreeOnOneLeaderOverBadLinks) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    sim::NoWatch watch;
    World<Lots<>> world{
        {.nodes = 5, .seed = seed, .link = bad_link()},
        [](NodeId self, Incarnation) { return Lots<>{self, {.lots = 8, .slot = 10ms}}; },
        watch};
    start_all(world);
    world.run_until(at(10s));
    const NodeId leader = world.machine(node_at(0)).leader();
    EXPECT_NE(leader, kNobody) << "seed " << seed;
    EXPECT_TRUE(
        everywhere(world, [&](const Lots<>& toy, NodeId) { return toy.leader() == leader; }))
        << "seed " << seed;
    EXPECT_EQ(checked(world), "");
  }
}

// The defect needs two equal highest lots whose claims cross; some seeds show it. The explorer
// finds it in every run.
TEST(LotsInTheSimulator, SomeSeedsFindIgnoredTies) {
  int disagreed = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    sim::NoWatch watch;
    World<Lots<false>> world{
        {.nodes = 5, .seed = seed, .link = bad_link()},
        [](NodeId self, Incarnation) { return Lots<false>{self, {.lots = 8, .slot = 10ms}}; },
        watch};
    start_all(world);
    world.run_until(at(10s));
    const NodeId leader = world.machine(node_at(0)).leader();
    if (!everywhere(world, [&](const Lots<false>& toy, NodeId) { return toy.leader() == leader; }))
      ++disagreed;
  }
  EXPECT_GT(disagreed, 0);
  EXPECT_LT(disagreed, 50);
}

// Adds at every node, several times, over bad links; returns the world after the last message.
template <bool kDetectsDuplicates>
World<Tally<kDetectsDuplicates>> tallied(std::uint64_t seed, sim::NoWatch& watch) {
  using Toy = Tally<kDetectsDuplicates>;
  // An attempt over such a link fails with probability 0.51, both directions counted, and twenty in
  // a row with 1.4e-6: none of the 36 parcels is given up in any of the seeds used here.
  const typename Toy::Options options{.nodes = 4, .post = {.interval = 5ms, .sends = 20}};
  World<Toy> world{
      {.nodes = 4, .seed = seed, .link = bad_link()},
      [options](NodeId self, Incarnation incarnation) { return Toy{self, incarnation, options}; },
      watch};
  start_all(world);
  for (std::uint32_t i = 0; i < 12; ++i) {
    world.command(NodeId{i % 4}, {.add = 1U << i});
    world.run_until(world.now() + 7ms);
  }
  // Twenty sends and the wait for the last take 5 ms * (2^20 - 1).
  world.run_until(at(6000s));
  return world;
}

TEST(TallyInTheSimulator, AddsEverythingEverywhereOnce) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    sim::NoWatch watch;
    const auto world = tallied<true>(seed, watch);
    EXPECT_TRUE(everywhere(world,
                           [](const Tally<>& toy, NodeId) {
                             return toy.total() == (1U << 12) - 1 && toy.unsure_of().empty() &&
                                    toy.timers().first() == kNever;
                           }))
        << "seed " << seed;
    EXPECT_EQ(checked(world), "");
  }
}

TEST(TallyInTheSimulator, FindsMissingDuplicateDetection) {
  sim::NoWatch watch;
  const auto world = tallied<false>(1, watch);
  EXPECT_FALSE(everywhere(
      world, [](const Tally<false>& toy, NodeId) { return toy.total() == (1U << 12) - 1; }));
}

TEST(TallyInTheSimulator, GivesUpOnAStoppedNode) {
  sim::NoWatch watch;
  const Tally<>::Options options{.nodes = 2, .post = {.interval = 1s, .sends = 3}};
  World<Tally<>> world{
      {.nodes = 2},
      [&](NodeId self, Incarnation incarnation) { return Tally<>{self, incarnation, options}; },
      watch};
  world.start(node_at(0));
  world.command(node_at(0), {.add = 5});
  world.run_until(at(7s));  // sent at 0, 1 and 3 seconds; due again at 7
  EXPECT_TRUE(world.machine(node_at(0)).unsure_of().empty());
  world.run_until(at(7s) + 1ns);
  EXPECT_TRUE(world.machine(node_at(0)).unsure_of().contains(node_at(1)));
}

World<Leadership<>>::Make leaderships() {
  return [](NodeId self, Incarnation) {
    return Leadership<>{Heartbeat{{.period = 100ms, .timeout = 1s}},
                        Lots<>{self, {.lots = 8, .slot = 10ms}}};
  };
}

TEST(LeadershipInTheSimulator, ReplacesACrashedLeader) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    sim::NoWatch watch;
    World<Leadership<>> world{{.nodes = 4, .seed = seed}, leaderships(), watch};
    const auto agreed = [&](NodeId leader) {
      return everywhere(
          world, [&](const Leadership<>& toy, NodeId) { return toy.part<1>().leader() == leader; });
    };
    start_all(world);
    world.run_until(at(2s));
    const NodeId first = world.machine(node_at(0)).part<1>().leader();
    ASSERT_NE(first, kNobody);
    EXPECT_TRUE(agreed(first)) << "seed " << seed;

    world.crash(first);
    world.run_until(at(6s));
    const NodeId other = first == node_at(0) ? node_at(1) : node_at(0);
    const NodeId second = world.machine(other).part<1>().leader();
    EXPECT_NE(second, first) << "seed " << seed;
    EXPECT_NE(second, kNobody) << "seed " << seed;
    EXPECT_TRUE(agreed(second)) << "seed " << seed;
    EXPECT_EQ(checked(world), "");
  }
}

TEST(LeadershipInTheSimulator, IsReproducibleFromItsSeed) {
  const auto run = [](std::uint64_t seed) {
    sim::NoWatch watch;
    World<Leadership<>> world{{.nodes = 4, .seed = seed, .link = bad_link()}, leaderships(), watch};
    start_all(world);
    world.run_until(at(5s) + 123us);
    return std::pair{world.events(), state_of(world)};
  };
  EXPECT_EQ(run(5), run(5));
  EXPECT_NE(run(5), run(6));
}

}  // namespace
}  // namespace tempo::toys
