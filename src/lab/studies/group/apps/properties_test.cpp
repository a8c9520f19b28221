// Each property on a run that satisfies it, and on one run for each way to violate it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/studies/group/apps/each_step_once.h"
#include "lab/studies/group/apps/fair_entry.h"
#include "lab/studies/group/apps/least_loaded.h"
#include "lab/studies/group/apps/majority_joins.h"
#include "lab/studies/group/apps/one_answer.h"
#include "lab/studies/group/apps/one_value.h"

namespace tempo::sim::apps {
namespace {

using ::testing::HasSubstr;
using Kind = Notice::Kind;

constexpr NodeId kA{0};
constexpr NodeId kB{1};
constexpr NodeId kC{2};

Scene at(Nanos when, std::vector<bool> up = {true, true, true}) {
  return {.now = Instant{when}, .up = std::move(up)};
}
Notice accepted(std::uint64_t task, std::uint32_t size = 1) {
  return {.kind = Kind::accepted, .number = size, .value = task};
}
Notice done(std::uint64_t task, NodeId by, std::uint32_t step = 1) {
  return {.kind = Kind::done, .node = by, .number = step, .value = task};
}
Notice only(Kind kind) { return {.kind = kind}; }
Notice writes(std::uint32_t version, std::uint64_t value) {
  return {.kind = Kind::writes, .number = version, .value = value};
}
Notice votes(std::uint32_t version, NodeId to) {
  return {.kind = Kind::votes, .node = to, .number = version};
}

TEST(OneAnswer, HoldsForTheBestServerAndMeasuresTheWait) {
  OneAnswer property({5, 9, 9});
  property.noticed(at(1ms), kA, accepted(7));
  property.noticed(at(4ms), kA, done(7, kC));
  property.noticed(at(5ms), kB, done(7, kC));
  property.ended(at(9ms));
  EXPECT_EQ(property.broken(), "");
  EXPECT_EQ(property.measures().asked, 1U);
  EXPECT_EQ(property.measures().done, 1U);
  EXPECT_EQ(property.measures().longest_wait, 3ms);
}

TEST(OneAnswer, DetectsAWorseServer) {
  OneAnswer property({5, 9, 9});
  property.noticed(at(1ms), kA, accepted(7));
  property.noticed(at(2ms), kA, done(7, kB));
  EXPECT_THAT(property.broken(), HasSubstr("3 is more appropriate"))
      << "of equal servers the larger number is better";
}

TEST(OneAnswer, IgnoresDeadServers) {
  OneAnswer property({5, 9, 9});
  property.noticed(at(1ms), kA, accepted(7));
  property.noticed(at(2ms, {true, true, false}), kA, done(7, kB));
  EXPECT_EQ(property.broken(), "");
}

TEST(OneAnswer, DetectsTwoAnswersAndNone) {
  OneAnswer twice({1, 1, 2});
  twice.noticed(at(1ms), kA, done(7, kC));
  twice.noticed(at(2ms), kB, done(7, kB));
  EXPECT_THAT(twice.broken(), HasSubstr("answered twice"));
  OneAnswer again({1, 1, 2});
  again.noticed(at(1ms), kA, done(7, kC));
  again.noticed(at(2ms), kA, done(7, kC));
  EXPECT_THAT(again.broken(), HasSubstr("answered twice"));
  OneAnswer none({1, 1, 2});
  none.noticed(at(1ms), kA, accepted(7));
  none.ended(at(2ms, {false, true, true}));
  EXPECT_EQ(none.broken(), "") << "the asking member is dead, and no other knows the request";
  none.ended(at(2ms));
  EXPECT_THAT(none.broken(), HasSubstr("never answered"));
}

LeastLoaded balance() { return {3, {.lasts = 10ms, .waits = 5ms}, 1ms}; }

TEST(LeastLoaded, CountsAJobUntilItEnds) {
  LeastLoaded property = balance();
  for (std::uint64_t job = 0; job < 3; ++job) {
    property.noticed(at(1ms), kA, accepted(job, 2));
    property.noticed(at(2ms), kA, {.kind = Kind::begins, .value = job});
    property.noticed(at(3ms), kA, done(job, node_at(job)));
    property.noticed(at(3ms), kB, done(job, node_at(job)));
  }
  // Each job ends at 3 + 5 + 2 * 10 ms; after that all processors are idle again.
  property.noticed(at(40ms), kA, accepted(3, 1));
  property.noticed(at(40ms), kA, {.kind = Kind::begins, .value = 3});
  property.noticed(at(41ms), kA, done(3, kB));
  property.ended(at(99ms));
  EXPECT_EQ(property.broken(), "");
  EXPECT_EQ(property.measures().by_node, (std::vector<std::uint64_t>{1, 2, 1}));
}

TEST(LeastLoaded, DetectsABurstThatGoesToOneProcessor) {
  LeastLoaded property = balance();
  for (std::uint64_t job = 0; job < 2; ++job) {
    property.noticed(at(1ms), kA, accepted(job, 2));
    property.noticed(at(3ms), kA, {.kind = Kind::begins, .value = job});
    property.noticed(at(4ms), kA, done(job, kB));
  }
  EXPECT_THAT(property.broken(), HasSubstr("goes to 2 with a load of 2, and 1 has only 0"));
}

TEST(LeastLoaded, DetectsAJobGivenTwiceOrNever) {
  LeastLoaded twice = balance();
  twice.noticed(at(1ms), kA, done(1, kB));
  twice.noticed(at(1ms), kB, done(1, kC));
  EXPECT_THAT(twice.broken(), HasSubstr("given out twice"));
  LeastLoaded never = balance();
  never.noticed(at(1ms), kA, accepted(1));
  never.ended(at(9ms));
  EXPECT_THAT(never.broken(), HasSubstr("never given out"));
}

TEST(EachStepOnce, HoldsAcrossCoordinators) {
  EachStepOnce property(3);
  for (const NodeId node : {kA, kB}) {
    property.noticed(at(1ms), node, accepted(7, 2));
    property.noticed(at(2ms), node, done(7, kC, 1));
    property.noticed(at(3ms), node, done(7, kB, 2));
  }
  property.ended(at(9ms));
  EXPECT_EQ(property.broken(), "");
  EXPECT_EQ(property.measures().done, 2U);
}

TEST(EachStepOnce, DetectsRepetitionDisagreementAndUnfinishedTasks) {
  EachStepOnce again(3);
  again.noticed(at(1ms), kA, accepted(7, 2));
  again.noticed(at(2ms), kA, done(7, kC, 1));
  again.noticed(at(3ms), kA, done(7, kB, 1));
  EXPECT_THAT(again.broken(), HasSubstr("step 1 of task 1.7 is done after step 1"));
  EachStepOnce both(3);
  both.noticed(at(2ms), kA, done(7, kC, 1));
  both.noticed(at(2ms), kB, done(7, kB, 1));
  EXPECT_THAT(both.broken(), HasSubstr("done by 3 and by 2"));
  EachStepOnce half(3);
  half.noticed(at(1ms), kA, accepted(7, 2));
  half.noticed(at(2ms), kA, done(7, kC, 1));
  half.ended(at(9ms));
  EXPECT_THAT(half.broken(), HasSubstr("ends after step 1 of 2"));
}

TEST(FairEntry, HoldsWhenEachOvertakesOnce) {
  FairEntry property(3);
  property.noticed(at(1ms), kA, only(Kind::wants));
  for (const NodeId node : {kB, kC, kA}) {
    property.noticed(at(2ms), node, only(Kind::enters));
    property.noticed(at(3ms), node, only(Kind::leaves));
  }
  property.ended(at(9ms));
  EXPECT_EQ(property.broken(), "");
}

TEST(FairEntry, DetectsStarvation) {
  FairEntry property(3);
  property.noticed(at(1ms), kA, only(Kind::wants));
  for (const NodeId node : {kB, kC, kB}) {
    property.noticed(at(2ms), node, only(Kind::enters));
    property.noticed(at(3ms), node, only(Kind::leaves));
  }
  EXPECT_THAT(property.broken(), HasSubstr("1 waits while 3 others enter"));
  FairEntry waits(3);
  waits.noticed(at(1ms), kA, only(Kind::wants));
  waits.ended(at(9ms, {false, true, true}));
  EXPECT_EQ(waits.broken(), "");
  waits.ended(at(9ms));
  EXPECT_THAT(waits.broken(), HasSubstr("never enters"));
}

TEST(FairEntry, DetectsTwoInside) {
  FairEntry property(3);
  property.noticed(at(1ms), kA, only(Kind::enters));
  property.noticed(at(2ms, {false, true, true}), kB, only(Kind::enters));
  EXPECT_EQ(property.broken(), "") << "the first process is dead";
  property.noticed(at(3ms, {false, true, true}), kC, only(Kind::enters));
  EXPECT_THAT(property.broken(), HasSubstr("2 and 3 are both inside"));
}

TEST(OneValue, DetectsTwoValuesAndLostUpdates) {
  OneValue kept(3);
  kept.noticed(at(1ms), kA, accepted(5));
  kept.noticed(at(2ms), kA, writes(1, 5));
  kept.noticed(at(3ms), kB, writes(1, 5));
  kept.ended(at(9ms));
  EXPECT_EQ(kept.broken(), "");
  kept.noticed(at(3ms), kC, writes(1, 6));
  EXPECT_THAT(kept.broken(), HasSubstr("version 1 is 5 at 1 and 6 at 3"));
  OneValue lost(3);
  lost.noticed(at(1ms), kA, accepted(5));
  lost.ended(at(9ms));
  EXPECT_THAT(lost.broken(), HasSubstr("never written"));
}

// A and B are the founders; C joins and is welcome.
MajorityJoins group() { return {3, 0b011, 0b100}; }

TEST(MajorityJoins, HoldsWithAMajority) {
  MajorityJoins property = group();
  property.noticed(at(1ms), kC, accepted(1));
  property.noticed(at(2ms), kA, votes(1, kC));
  property.noticed(at(2ms), kB, votes(1, kC));
  property.noticed(at(3ms), kA, writes(1, 0b111));
  property.noticed(at(3ms), kB, writes(1, 0b111));
  property.ended(at(9ms));
  EXPECT_EQ(property.broken(), "");
  EXPECT_EQ(property.measures().done, 1U);
}

TEST(MajorityJoins, DetectsEveryWrongAdmission) {
  MajorityJoins half = group();
  half.noticed(at(2ms), kA, votes(1, kC));
  half.noticed(at(2ms), kC, votes(1, kC));  // not a member
  half.noticed(at(3ms), kA, writes(1, 0b111));
  EXPECT_THAT(half.broken(), HasSubstr("admitted by 1 of 2"));
  MajorityJoins lists = group();
  for (const NodeId node : {kA, kB}) lists.noticed(at(2ms), node, votes(1, kC));
  lists.noticed(at(3ms), kA, writes(1, 0b111));
  lists.noticed(at(3ms), kB, writes(1, 0b1011));
  EXPECT_THAT(lists.broken(), HasSubstr("2 has a different list 1"));
  MajorityJoins skipped = group();
  skipped.noticed(at(3ms), kA, writes(2, 0b111));
  EXPECT_THAT(skipped.broken(), HasSubstr("list 2 follows list 0"));
  MajorityJoins shrunk = group();
  shrunk.noticed(at(3ms), kA, writes(1, 0b001));
  EXPECT_THAT(shrunk.broken(), HasSubstr("does not extend the previous list by one member"));
  MajorityJoins waits = group();
  waits.noticed(at(1ms), kC, accepted(1));
  waits.ended(at(9ms));
  EXPECT_THAT(waits.broken(), HasSubstr("never admitted"));
}

}  // namespace
}  // namespace tempo::sim::apps
