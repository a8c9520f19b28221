#include "lab/studies/election/cluster.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/studies/election/scenario.h"

namespace tempo::sim::election {
namespace {

using tempo::election::Kind;
using tempo::election::State;
using ::testing::Contains;
using ::testing::Not;

constexpr NodeId kOne{0}, kTwo{1}, kThree{2}, kFour{3};

Setup lan(std::uint32_t nodes) {
  return {.nodes = nodes,
          .rules = {.timing = *tempo::election::profile("lan"), .repeats = 0},
          .link = {.delay = Delay::constant(1ms)},
          .keep_trace = true};
}

// Node 1 is master; the others follow it.
class SettledCluster : public ::testing::Test {
 protected:
  SettledCluster() : cluster(lan(4)) {
    for (const Fault& fault : settled(lan(4)).plan) cluster.apply(fault);
    from = cluster.watches().tracer.trace().happenings().size();
    EXPECT_EQ(cluster.master(), kOne);
  }

  void run(Nanos span) { cluster.run_until(cluster.now() + span); }
  void apply(Fault fault) {
    fault.at = cluster.now();
    cluster.apply(fault);
  }
  // Trace since the network was settled: "1->* loop", "2 becomes candidate".
  std::vector<std::string> trace_lines() const {
    std::vector<std::string> lines;
    const auto& all = cluster.watches().tracer.trace().happenings();
    for (std::size_t i = from; i < all.size(); ++i) {
      const std::string text = line(all[i]);
      lines.push_back(text.substr(text.find(' ') + 1));
    }
    return lines;
  }
  State state(NodeId id) const { return cluster.world().machine(id).state(); }

  Cluster cluster;
  std::size_t from = 0;
};

TEST_F(SettledCluster, IsStableAndSatisfiesItsProperties) {
  EXPECT_EQ(not_one_master(cluster.world()), std::nullopt);
  EXPECT_EQ(cluster.violations().count(), 0U);
  run(3s);
  EXPECT_THAT(trace_lines(), Not(Contains("2 becomes candidate")));
  EXPECT_EQ(not_all_listed(cluster.world(), cluster.watches().corrections, 1s), std::nullopt);
}

TEST_F(SettledCluster, CrashEndsWithANewIncarnationWithoutState) {
  const Incarnation before = cluster.world().machine(kTwo).incarnation();
  apply({.act = Act::crash, .node = kTwo, .lasts = 100ms});
  EXPECT_FALSE(cluster.world().up(kTwo));
  run(100ms - 1ns);
  EXPECT_FALSE(cluster.world().up(kTwo));
  run(1ns);
  ASSERT_TRUE(cluster.world().up(kTwo));
  EXPECT_NE(cluster.world().machine(kTwo).incarnation(), before);
  EXPECT_EQ(state(kTwo), State::startup);
  run(50ms);
  EXPECT_EQ(cluster.world().machine(kTwo).master(), kOne) << "it must have asked for the master";
}

TEST_F(SettledCluster, PermanentCrashDoesNotEnd) {
  apply({.act = Act::crash, .node = kTwo});
  run(10s);
  EXPECT_FALSE(cluster.world().up(kTwo));
}

TEST_F(SettledCluster, RunningNodeIsNotStartedAgain) {
  const Incarnation before = cluster.world().machine(kTwo).incarnation();
  apply({.act = Act::start, .node = kTwo});
  EXPECT_EQ(cluster.world().machine(kTwo).incarnation(), before);
}

TEST_F(SettledCluster, HintIsTheParentsMasterdown) {
  apply({.act = Act::hint, .node = kOne});
  EXPECT_FALSE(cluster.world().up(kOne));
  EXPECT_THAT(trace_lines(), Contains("1->* masterdown"));
  run(2ms);
  EXPECT_EQ(state(kFour), State::candidate) << "the heir is the highest listed node";
}

TEST_F(SettledCluster, CleanStopIsTheMastersOwnMasterdown) {
  apply({.act = Act::stop, .node = kOne});
  EXPECT_FALSE(runs(cluster.world(), kOne));
  EXPECT_THAT(trace_lines(), Contains("1->* masterdown"));
  run(2ms);
  EXPECT_EQ(state(kFour), State::candidate);
}

TEST_F(SettledCluster, CleanStopOfAFollowerSendsNothing) {
  apply({.act = Act::stop, .node = kTwo, .lasts = 1s});
  EXPECT_THAT(trace_lines(), Not(Contains("2->* masterdown")));
  EXPECT_FALSE(cluster.world().up(kTwo));
  run(1s);
  EXPECT_TRUE(cluster.world().up(kTwo));
}

TEST_F(SettledCluster, PausedNodeReceivesWaitingMessagesWhenItResumes) {
  apply({.act = Act::pause, .node = kTwo, .lasts = 400ms});
  run(400ms - 1ns);
  EXPECT_THAT(trace_lines(), Not(Contains("1->2 loop received")));
  EXPECT_THAT(trace_lines(), Contains("1->3 loop received"));
  run(1ns);
  EXPECT_THAT(trace_lines(), Contains("1->2 loop received"));
  EXPECT_EQ(state(kTwo), State::slave);
}

TEST_F(SettledCluster, PartitionCutsBothDirectionsAndHeals) {
  apply({.act = Act::partition, .lasts = 10s, .side = {kOne, kTwo}});
  EXPECT_TRUE(cluster.world().reaches(kOne, kTwo));
  EXPECT_TRUE(cluster.world().reaches(kThree, kFour));
  EXPECT_FALSE(cluster.world().reaches(kOne, kThree));
  EXPECT_FALSE(cluster.world().reaches(kThree, kOne));
  run(9s);
  EXPECT_EQ(cluster.master(), kNobody) << "there are two masters";
  EXPECT_EQ(not_one_master(cluster.world()), std::nullopt) << "each part has one master";
  run(1s);
  EXPECT_TRUE(cluster.world().whole());
  run(1s);
  EXPECT_NE(cluster.master(), kNobody);
}

TEST_F(SettledCluster, CutsOneDirection) {
  apply({.act = Act::cut, .node = kOne, .peer = kTwo, .lasts = 1s});
  EXPECT_FALSE(cluster.world().reaches(kOne, kTwo));
  EXPECT_TRUE(cluster.world().reaches(kTwo, kOne));
  apply({.act = Act::deaf, .node = kThree, .lasts = 2s});
  EXPECT_FALSE(cluster.world().reaches(kTwo, kThree));
  EXPECT_TRUE(cluster.world().reaches(kThree, kTwo));
  apply({.act = Act::mute, .node = kFour, .lasts = 3s});
  EXPECT_FALSE(cluster.world().reaches(kFour, kTwo));
  EXPECT_TRUE(cluster.world().reaches(kTwo, kFour));
  run(1s);
  EXPECT_TRUE(cluster.world().reaches(kOne, kTwo)) << "one cut has ended";
  EXPECT_FALSE(cluster.world().reaches(kTwo, kThree)) << "the other cut must remain";
  run(1s);
  EXPECT_TRUE(cluster.world().reaches(kTwo, kThree));
  EXPECT_FALSE(cluster.world().whole());
  run(1s);
  EXPECT_TRUE(cluster.world().whole());
}

TEST_F(SettledCluster, LosesOnlyTheNamedKindBetweenTheNamedNodes) {
  apply({.act = Act::lose,
         .node = kOne,
         .peer = kTwo,
         .lasts = 400ms,
         .kind = Kind::loop,
         .any_kind = false});
  run(400ms);
  EXPECT_THAT(trace_lines(), Contains("1->2 loop lost"));
  EXPECT_THAT(trace_lines(), Not(Contains("1->2 loop received")));
  EXPECT_THAT(trace_lines(), Contains("1->3 loop received"));
  EXPECT_THAT(trace_lines(), Not(Contains("1->3 loop lost")));
  run(300ms);
  EXPECT_THAT(trace_lines(), Contains("1->2 loop received")) << "the fault has ended";
}

TEST_F(SettledCluster, TwiceDeliversTwice) {
  apply({.act = Act::twice, .node = kOne, .peer = kTwo, .lasts = 200ms});
  run(200ms);
  const std::vector<std::string> lines = trace_lines();
  EXPECT_EQ(std::ranges::count(lines, "1->2 loop received"), 2);
  EXPECT_EQ(std::ranges::count(lines, "1->3 loop received"), 1);
}

TEST_F(SettledCluster, LateAddsTheDelay) {
  apply({.act = Act::late, .node = kOne, .peer = kTwo, .lasts = 200ms, .extra = 50ms});
  run(102ms);  // the Loop is sent after 100 ms
  ASSERT_THAT(trace_lines(), Contains("1->3 loop received"));
  EXPECT_THAT(trace_lines(), Not(Contains("1->2 loop received")));
  run(50ms);
  EXPECT_THAT(trace_lines(), Contains("1->2 loop received"));
}

TEST_F(SettledCluster, StandAppliesToFollowersOnly) {
  apply({.act = Act::stand, .node = kTwo});
  EXPECT_EQ(state(kTwo), State::candidate);
  apply({.act = Act::stand, .node = kOne});
  EXPECT_EQ(state(kOne), State::master);
}

TEST(Links, SwitchBetweenCalmAndRough) {
  auto setup = lan(2);
  setup.link.loss = 0.5;
  setup.link.duplicate = 0.25;
  setup.link.reorder = 0.125;
  Cluster cluster(setup);
  cluster.apply({.act = Act::calm});
  EXPECT_EQ(cluster.world().link().loss, 0);
  EXPECT_EQ(cluster.world().link().duplicate, 0);
  EXPECT_EQ(cluster.world().link().reorder, 0);
  cluster.apply({.act = Act::rough});
  EXPECT_EQ(cluster.world().link().loss, 0.5);
  EXPECT_EQ(cluster.world().link().duplicate, 0.25);
  EXPECT_EQ(cluster.world().link().reorder, 0.125);
}

// --- terms of masters ---

TEST(Reigns, CountCurrentMasters) {
  Cluster cluster(lan(3));
  for (const Fault& fault : settled(lan(3)).plan) cluster.apply(fault);
  const auto& reigns = cluster.watches().reigns;
  EXPECT_EQ(reigns.count(), 1U);
  EXPECT_EQ(reigns.reigns(), 1U);
  EXPECT_EQ(reigns.last(), kOne);
  EXPECT_EQ(reigns.last_began(), Instant{1s}) << "after start-up and no-master";
  EXPECT_FALSE(reigns.ever_two());
  cluster.apply({.at = cluster.now(), .act = Act::pause, .node = kOne, .lasts = 10s});
  EXPECT_EQ(reigns.count(), 1U) << "a paused master is still master";
  cluster.run_until(cluster.now() + 9s);
  EXPECT_EQ(reigns.count(), 2U);
  EXPECT_TRUE(reigns.ever_two());
  EXPECT_EQ(reigns.reigns(), 2U);
  cluster.apply({.at = cluster.now(), .act = Act::crash, .node = kOne});
  EXPECT_EQ(reigns.count(), 1U);
}

// Observation does not disturb: the same run with and without a recorded trace.
TEST(KeepingATrace, ChangesNothing) {
  auto setup = lan(5);
  setup.link = {.loss = 0.1};
  std::vector<std::uint64_t> hashes;
  for (const bool keep : {false, true}) {
    setup.keep_trace = keep;
    Cluster cluster(setup);
    for (std::uint32_t i = 0; i < 5; ++i)
      cluster.apply({.at = Instant{i * 10ms}, .act = Act::start, .node = NodeId{i}});
    cluster.run_until(Instant{5s});
    hashes.push_back(cluster.watches().tracer.trace().hash());
    EXPECT_EQ(cluster.watches().tracer.trace().happenings().empty(), !keep);
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

}  // namespace
}  // namespace tempo::sim::election
