#include "lab/studies/election/stage.h"

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

// Node 1 rules; the others follow it.
class SettledStage : public ::testing::Test {
 protected:
  SettledStage() : stage(lan(4)) {
    for (const Fault& fault : settled(lan(4)).plan) stage.apply(fault);
    from = stage.watches().tracer.trace().happenings().size();
    EXPECT_EQ(stage.master(), kOne);
  }

  void run(Nanos span) { stage.run_until(stage.now() + span); }
  void apply(Fault fault) {
    fault.at = stage.now();
    stage.apply(fault);
  }
  // What happened since the network was settled: "1->* loop", "2 becomes candidate".
  std::vector<std::string> happened() const {
    std::vector<std::string> lines;
    const auto& all = stage.watches().tracer.trace().happenings();
    for (std::size_t i = from; i < all.size(); ++i) {
      const std::string text = line(all[i]);
      lines.push_back(text.substr(text.find(' ') + 1));
    }
    return lines;
  }
  State state(NodeId id) const { return stage.world().machine(id).state(); }

  Stage stage;
  std::size_t from = 0;
};

TEST_F(SettledStage, IsQuietAndKeepsItsPromises) {
  EXPECT_EQ(not_one_master(stage.world()), std::nullopt);
  EXPECT_EQ(stage.violations().count(), 0U);
  run(3s);
  EXPECT_THAT(happened(), Not(Contains("2 becomes candidate")));
  EXPECT_EQ(not_all_listed(stage.world(), stage.watches().corrections, 1s), std::nullopt);
}

TEST_F(SettledStage, ACrashEndsWithANewLifeThatHasForgotten) {
  const Incarnation before = stage.world().machine(kTwo).incarnation();
  apply({.act = Act::crash, .node = kTwo, .lasts = 100ms});
  EXPECT_FALSE(stage.world().up(kTwo));
  run(100ms - 1ns);
  EXPECT_FALSE(stage.world().up(kTwo));
  run(1ns);
  ASSERT_TRUE(stage.world().up(kTwo));
  EXPECT_NE(stage.world().machine(kTwo).incarnation(), before);
  EXPECT_EQ(state(kTwo), State::startup);
  run(50ms);
  EXPECT_EQ(stage.world().machine(kTwo).master(), kOne) << "it asked and was answered";
}

TEST_F(SettledStage, ACrashForEverDoesNotEnd) {
  apply({.act = Act::crash, .node = kTwo});
  run(10s);
  EXPECT_FALSE(stage.world().up(kTwo));
}

TEST_F(SettledStage, WhoRunsIsNotStartedAgain) {
  const Incarnation before = stage.world().machine(kTwo).incarnation();
  apply({.act = Act::start, .node = kTwo});
  EXPECT_EQ(stage.world().machine(kTwo).incarnation(), before);
}

TEST_F(SettledStage, AHintIsTheParentsMasterdown) {
  apply({.act = Act::hint, .node = kOne});
  EXPECT_FALSE(stage.world().up(kOne));
  EXPECT_THAT(happened(), Contains("1->* masterdown"));
  run(2ms);
  EXPECT_EQ(state(kFour), State::candidate) << "the heir: the highest listed";
}

TEST_F(SettledStage, ACleanStopIsTheMastersOwnMasterdown) {
  apply({.act = Act::stop, .node = kOne});
  EXPECT_FALSE(runs(stage.world(), kOne));
  EXPECT_THAT(happened(), Contains("1->* masterdown"));
  run(2ms);
  EXPECT_EQ(state(kFour), State::candidate);
}

TEST_F(SettledStage, ACleanStopOfASlaveSaysNothing) {
  apply({.act = Act::stop, .node = kTwo, .lasts = 1s});
  EXPECT_THAT(happened(), Not(Contains("2->* masterdown")));
  EXPECT_FALSE(stage.world().up(kTwo));
  run(1s);
  EXPECT_TRUE(stage.world().up(kTwo));
}

TEST_F(SettledStage, APausedNodeReadsWhatWaitedWhenItResumes) {
  apply({.act = Act::pause, .node = kTwo, .lasts = 400ms});
  run(400ms - 1ns);
  EXPECT_THAT(happened(), Not(Contains("1->2 loop received")));
  EXPECT_THAT(happened(), Contains("1->3 loop received"));
  run(1ns);
  EXPECT_THAT(happened(), Contains("1->2 loop received"));
  EXPECT_EQ(state(kTwo), State::slave);
}

TEST_F(SettledStage, APartitionCutsBothWaysAndHeals) {
  apply({.act = Act::partition, .lasts = 10s, .side = {kOne, kTwo}});
  EXPECT_TRUE(stage.world().reaches(kOne, kTwo));
  EXPECT_TRUE(stage.world().reaches(kThree, kFour));
  EXPECT_FALSE(stage.world().reaches(kOne, kThree));
  EXPECT_FALSE(stage.world().reaches(kThree, kOne));
  run(9s);
  EXPECT_EQ(stage.master(), kNobody) << "there are two";
  EXPECT_EQ(not_one_master(stage.world()), std::nullopt) << "one in each part";
  run(1s);
  EXPECT_TRUE(stage.world().whole());
  run(1s);
  EXPECT_NE(stage.master(), kNobody);
}

TEST_F(SettledStage, OneWayCuts) {
  apply({.act = Act::cut, .node = kOne, .peer = kTwo, .lasts = 1s});
  EXPECT_FALSE(stage.world().reaches(kOne, kTwo));
  EXPECT_TRUE(stage.world().reaches(kTwo, kOne));
  apply({.act = Act::deaf, .node = kThree, .lasts = 2s});
  EXPECT_FALSE(stage.world().reaches(kTwo, kThree));
  EXPECT_TRUE(stage.world().reaches(kThree, kTwo));
  apply({.act = Act::mute, .node = kFour, .lasts = 3s});
  EXPECT_FALSE(stage.world().reaches(kFour, kTwo));
  EXPECT_TRUE(stage.world().reaches(kTwo, kFour));
  run(1s);
  EXPECT_TRUE(stage.world().reaches(kOne, kTwo)) << "one ends";
  EXPECT_FALSE(stage.world().reaches(kTwo, kThree)) << "the others stay";
  run(1s);
  EXPECT_TRUE(stage.world().reaches(kTwo, kThree));
  EXPECT_FALSE(stage.world().whole());
  run(1s);
  EXPECT_TRUE(stage.world().whole());
}

TEST_F(SettledStage, OnlyTheKindNamedIsLostBetweenThoseNamed) {
  apply({.act = Act::lose,
         .node = kOne,
         .peer = kTwo,
         .lasts = 400ms,
         .kind = Kind::loop,
         .any_kind = false});
  run(400ms);
  EXPECT_THAT(happened(), Contains("1->2 loop lost"));
  EXPECT_THAT(happened(), Not(Contains("1->2 loop received")));
  EXPECT_THAT(happened(), Contains("1->3 loop received"));
  EXPECT_THAT(happened(), Not(Contains("1->3 loop lost")));
  run(300ms);
  EXPECT_THAT(happened(), Contains("1->2 loop received")) << "it is over";
}

TEST_F(SettledStage, TwiceIsReceivedTwice) {
  apply({.act = Act::twice, .node = kOne, .peer = kTwo, .lasts = 200ms});
  run(200ms);
  const std::vector<std::string> lines = happened();
  EXPECT_EQ(std::ranges::count(lines, "1->2 loop received"), 2);
  EXPECT_EQ(std::ranges::count(lines, "1->3 loop received"), 1);
}

TEST_F(SettledStage, LateTakesThatMuchLonger) {
  apply({.act = Act::late, .node = kOne, .peer = kTwo, .lasts = 200ms, .extra = 50ms});
  run(102ms);  // the Loop leaves after 100
  ASSERT_THAT(happened(), Contains("1->3 loop received"));
  EXPECT_THAT(happened(), Not(Contains("1->2 loop received")));
  run(50ms);
  EXPECT_THAT(happened(), Contains("1->2 loop received"));
}

TEST_F(SettledStage, StandingIsForSlaves) {
  apply({.act = Act::stand, .node = kTwo});
  EXPECT_EQ(state(kTwo), State::candidate);
  apply({.act = Act::stand, .node = kOne});
  EXPECT_EQ(state(kOne), State::master);
}

TEST(Links, CalmAndRough) {
  auto setup = lan(2);
  setup.link.loss = 0.5;
  setup.link.duplicate = 0.25;
  setup.link.reorder = 0.125;
  Stage stage(setup);
  stage.apply({.act = Act::calm});
  EXPECT_EQ(stage.world().link().loss, 0);
  EXPECT_EQ(stage.world().link().duplicate, 0);
  EXPECT_EQ(stage.world().link().reorder, 0);
  stage.apply({.act = Act::rough});
  EXPECT_EQ(stage.world().link().loss, 0.5);
  EXPECT_EQ(stage.world().link().duplicate, 0.25);
  EXPECT_EQ(stage.world().link().reorder, 0.125);
}

// --- reigns ---

TEST(Reigns, CountTheMastersThereAre) {
  Stage stage(lan(3));
  for (const Fault& fault : settled(lan(3)).plan) stage.apply(fault);
  const auto& reigns = stage.watches().reigns;
  EXPECT_EQ(reigns.count(), 1U);
  EXPECT_EQ(reigns.reigns(), 1U);
  EXPECT_EQ(reigns.last(), kOne);
  EXPECT_EQ(reigns.last_began(), Instant{1s}) << "start-up and no-master";
  EXPECT_FALSE(reigns.ever_two());
  stage.apply({.at = stage.now(), .act = Act::pause, .node = kOne, .lasts = 10s});
  EXPECT_EQ(reigns.count(), 1U) << "a paused master still thinks it rules";
  stage.run_until(stage.now() + 9s);
  EXPECT_EQ(reigns.count(), 2U);
  EXPECT_TRUE(reigns.ever_two());
  EXPECT_EQ(reigns.reigns(), 2U);
  stage.apply({.at = stage.now(), .act = Act::crash, .node = kOne});
  EXPECT_EQ(reigns.count(), 1U);
}

// Who watches does not disturb: the same run with and without a trace kept.
TEST(KeepingATrace, ChangesNothing) {
  auto setup = lan(5);
  setup.link = {.loss = 0.1};
  std::vector<std::uint64_t> hashes;
  for (const bool keep : {false, true}) {
    setup.keep_trace = keep;
    Stage stage(setup);
    for (std::uint32_t i = 0; i < 5; ++i)
      stage.apply({.at = Instant{i * 10ms}, .act = Act::start, .node = NodeId{i}});
    stage.run_until(Instant{5s});
    hashes.push_back(stage.watches().tracer.trace().hash());
    EXPECT_EQ(stage.watches().tracer.trace().happenings().empty(), !keep);
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

}  // namespace
}  // namespace tempo::sim::election
