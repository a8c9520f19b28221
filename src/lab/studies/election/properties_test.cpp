// Each property is tested on a constructed network that satisfies it and on one that does not: a
// check that never fails proves nothing.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/studies/election/all_listed.h"
#include "lab/studies/election/conservative.h"
#include "lab/studies/election/no_starvation.h"
#include "lab/studies/election/obeys_newest.h"
#include "lab/studies/election/one_master.h"
#include "lab/studies/election/sole_candidate_wins.h"

namespace tempo::sim::election {
namespace {

using tempo::election::Change;
using tempo::election::Notice;
using tempo::election::State;
using tempo::election::Timing;
using ::testing::ElementsAre;
using ::testing::Optional;

const Timing kLan = *tempo::election::profile("lan");

struct FakeMachine {
  State state_now = State::slave;
  Epoch follows{};
  NodeSet listed{};
  bool over = false;

  State state() const { return state_now; }
  const Epoch& followed() const { return follows; }
  NodeId master() const { return follows.node; }
  const NodeSet& list() const { return listed; }
  bool ended() const { return over; }
};

// The part of a World that the checks use.
struct FakeWorld {
  explicit FakeWorld(std::uint32_t nodes) : machines(nodes), running(nodes, true) {}

  std::uint32_t size() const { return static_cast<std::uint32_t>(machines.size()); }
  Instant now() const { return clock; }
  bool up(NodeId id) const { return running[index(id)]; }
  const FakeMachine& machine(NodeId id) const { return machines[index(id)]; }
  bool whole() const { return partition.empty(); }
  bool reaches(NodeId from, NodeId to) const {
    for (const auto& [a, b] : partition)
      if (a == index(from) && b == index(to)) return false;
    return true;
  }

  void cut(std::uint32_t from, std::uint32_t to) { partition.emplace_back(from, to); }
  void cut_both_ways(std::uint32_t one, std::uint32_t other) {
    cut(one, other);
    cut(other, one);
  }
  // Makes this node master in this round, with these followers on its list.
  void reign(std::uint32_t master, std::uint32_t round, const std::vector<std::uint32_t>& slaves) {
    FakeMachine& machine = machines[master];
    machine.state_now = State::master;
    machine.follows = {round, NodeId{master}, Incarnation{1}};
    for (const std::uint32_t slave : slaves) {
      machines[slave].state_now = State::slave;
      machines[slave].follows = machine.follows;
      machine.listed.insert(NodeId{slave});
    }
  }

  std::vector<FakeMachine> machines;
  std::vector<bool> running;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> partition;
  Instant clock{100s};
};

std::vector<std::string> broken(const Violations& violations) {
  std::vector<std::string> texts;
  for (const Violation& violation : violations.kept())
    texts.push_back(violation.property + ": " + violation.seen);
  return texts;
}

// --- parts ---

TEST(Parts, AreNodesThatReachEachOther) {
  FakeWorld world(5);
  EXPECT_THAT(parts_of(world), ElementsAre(0, 0, 0, 0, 0));
  world.cut(0, 1);  // one direction only, but both reach the others
  EXPECT_THAT(parts_of(world), ElementsAre(0, 0, 0, 0, 0));
  for (const std::uint32_t one : {0U, 1U})
    for (const std::uint32_t other : {2U, 3U, 4U}) world.cut(one, other);
  EXPECT_THAT(parts_of(world), ElementsAre(0, 1, 2, 2, 2)) << "no node forwards from 0 to 1";
}

TEST(Parts, NodesThatAreDownAreAloneAndForwardNothing) {
  FakeWorld world(3);
  world.running[0] = false;
  EXPECT_THAT(parts_of(world), ElementsAre(0, 1, 1));
  world.machines[2].over = true;
  EXPECT_THAT(parts_of(world), ElementsAre(0, 1, 2));
  // 1 and 2 reach each other only through 0.
  FakeWorld star(3);
  star.cut_both_ways(1, 2);
  EXPECT_THAT(parts_of(star), ElementsAre(0, 0, 0));
  star.running[0] = false;
  EXPECT_THAT(parts_of(star), ElementsAre(0, 1, 2));
}

// --- one-master ---

TEST(OneMaster, Holds) {
  FakeWorld world(3);
  world.reign(1, 4, {0, 2});
  EXPECT_EQ(not_one_master(world), std::nullopt);
}

TEST(OneMaster, IsViolatedByTwo) {
  FakeWorld world(4);
  world.reign(0, 4, {1});
  world.reign(2, 5, {3});
  EXPECT_THAT(not_one_master(world), Optional(std::string("1 and 3 are both masters")));
}

TEST(OneMaster, AllowsOneInEachPart) {
  FakeWorld world(4);
  world.reign(0, 4, {1});
  world.reign(2, 5, {3});
  for (const std::uint32_t one : {0U, 1U})
    for (const std::uint32_t other : {2U, 3U}) world.cut_both_ways(one, other);
  EXPECT_EQ(not_one_master(world), std::nullopt);
  world.machines[2].state_now = State::conflict;
  EXPECT_THAT(not_one_master(world), Optional(std::string("3 has no master")));
}

TEST(OneMaster, IsViolatedByNone) {
  FakeWorld world(2);
  EXPECT_THAT(not_one_master(world), Optional(std::string("1 has no master")));
}

TEST(OneMaster, IsViolatedByANodeThatFollowsAnother) {
  FakeWorld world(3);
  world.reign(0, 4, {1, 2});
  world.machines[2].follows.round = 3;
  EXPECT_THAT(not_one_master(world), Optional(std::string("3 does not follow 1")));
  world.machines[2].follows = world.machines[0].follows;
  world.machines[1].state_now = State::accept;
  EXPECT_THAT(not_one_master(world), Optional(std::string("2 is still in accept")));
  world.running[1] = false;
  EXPECT_EQ(not_one_master(world), std::nullopt) << "a node that is down follows no master";
}

// --- all-listed ---

void correct(Corrections& corrections, const FakeWorld& world, std::uint32_t node, Change news) {
  corrections.noticed(world, NodeId{node}, Notice{.news = news});
}

TEST(AllListed, HoldsWhileAllAreCorrected) {
  FakeWorld world(3);
  world.reign(0, 4, {1, 2});
  Corrections corrections;
  correct(corrections, world, 1, Change::adjusted);
  correct(corrections, world, 2, Change::set);
  world.clock += 3s;
  EXPECT_EQ(not_all_listed(world, corrections, 1s), std::nullopt);
  world.clock += 1ns;
  EXPECT_THAT(not_all_listed(world, corrections, 1s),
              Optional(std::string("2 has not been corrected for three intervals")));
}

TEST(AllListed, IsViolatedByAMissingNode) {
  FakeWorld world(3);
  world.reign(0, 4, {1, 2});
  Corrections corrections;
  correct(corrections, world, 1, Change::adjusted);
  correct(corrections, world, 2, Change::adjusted);
  world.machines[0].listed.erase(NodeId{2});
  EXPECT_THAT(not_all_listed(world, corrections, 1s),
              Optional(std::string("3 is not on its master's list")));
  world.reign(0, 4, {2});
  world.machines[2].follows = kNoEpoch;
  EXPECT_THAT(not_all_listed(world, corrections, 1s),
              Optional(std::string("3 is not on its master's list")));
}

TEST(Corrections, CountOnlyCorrections) {
  FakeWorld world(2);
  Corrections corrections;
  correct(corrections, world, 1, Change::peer_down);
  correct(corrections, world, 1, Change::ended);
  EXPECT_EQ(corrections.count(NodeId{1}), 0U);
  EXPECT_EQ(corrections.last(NodeId{1}), Instant{});
  correct(corrections, world, 1, Change::adjusted);
  EXPECT_EQ(corrections.count(NodeId{1}), 1U);
  EXPECT_EQ(corrections.count(NodeId{0}), 0U);
  EXPECT_EQ(corrections.last(NodeId{1}), world.now());
}

// --- no-starvation ---

TEST(NoStarvation, IsViolatedWhenOnlyTheFaultyNodeIsMaster) {
  FakeWorld world(3);
  Corrections corrections;
  correct(corrections, world, 1, Change::adjusted);
  correct(corrections, world, 2, Change::adjusted);
  world.reign(0, 4, {1, 2});
  EXPECT_THAT(starved(world, corrections, 1s, NodeId{0}),
              Optional(std::string("only the faulty node is master")));
  world.reign(1, 5, {2});
  EXPECT_EQ(starved(world, corrections, 1s, NodeId{0}), std::nullopt);
  world.clock += 3s + 1ns;
  EXPECT_THAT(starved(world, corrections, 1s, NodeId{0}),
              Optional(std::string("3 has not been corrected for three intervals")));
}

// --- obeys-newest ---

class ObeysNewestTest : public ::testing::Test {
 protected:
  void follow(std::uint32_t round) {
    world.machines[1].follows = {round, NodeId{0}, Incarnation{1}};
    checker.stepped(world, NodeId{1});
  }
  void apply(std::uint32_t round, Change news = Change::adjusted) {
    checker.noticed(
        world, NodeId{1},
        Notice{.news = news, .peer = NodeId{0}, .epoch = {round, NodeId{0}, Incarnation{1}}});
  }

  FakeWorld world{2};
  Violations violations;
  ObeysNewest checker{violations, true};
};

TEST_F(ObeysNewestTest, HoldsWhileRoundsRise) {
  follow(3);
  apply(3);
  apply(4);
  follow(4);
  apply(4, Change::set);
  EXPECT_EQ(violations.count(), 0U);
}

TEST_F(ObeysNewestTest, IsViolatedByALowerRoundThanOneFollowed) {
  follow(5);
  apply(4);
  EXPECT_THAT(
      broken(violations),
      ElementsAre("obeys-newest: 2 applied a correction of round 4 after following round 5"));
  apply(4, Change::set);
  EXPECT_EQ(violations.count(), 2U);
}

TEST_F(ObeysNewestTest, RemembersTheFollowedEpochEvenIfTheMachineForgets) {
  follow(5);
  follow(1);
  apply(4);
  EXPECT_EQ(violations.count(), 1U);
}

TEST_F(ObeysNewestTest, RestartsWithANewIncarnation) {
  follow(5);
  world.machines[1].follows = kNoEpoch;
  checker.disturbed(world, NodeId{1}, "crashes");
  checker.disturbed(world, NodeId{1}, "starts");
  apply(4);
  EXPECT_EQ(violations.count(), 0U);
}

TEST_F(ObeysNewestTest, IgnoresOtherNotices) {
  follow(5);
  apply(4, Change::peer_down);
  EXPECT_EQ(violations.count(), 0U);
}

// Without epochs no epoch is the newest.
TEST_F(ObeysNewestTest, IsNotCheckedWithoutEpochs) {
  ObeysNewest lenient{violations, false};
  world.machines[1].follows = {5, NodeId{0}, Incarnation{1}};
  lenient.stepped(world, NodeId{1});
  lenient.noticed(world, NodeId{1},
                  Notice{.news = Change::adjusted, .epoch = {4, NodeId{0}, Incarnation{1}}});
  EXPECT_EQ(violations.count(), 0U);
}

// --- conservative ---

class ConservativeTest : public ::testing::Test {
 protected:
  void becomes(std::uint32_t node, State state) {
    world.machines[node].state_now = state;
    checker.stepped(world, NodeId{node});
  }

  FakeWorld world{3};
  Violations violations;
  Conservative checker{violations, kLan, true};
};

TEST_F(ConservativeTest, AllowsOneAfterTheOther) {
  becomes(0, State::master);
  becomes(0, State::slave);
  becomes(1, State::master);
  EXPECT_EQ(violations.count(), 0U);
}

TEST_F(ConservativeTest, IsViolatedByTheSecond) {
  becomes(0, State::master);
  becomes(2, State::master);
  EXPECT_THAT(broken(violations), ElementsAre("conservative: 3 became master beside 1"));
  becomes(2, State::master);
  EXPECT_EQ(violations.count(), 1U) << "each term is reported once";
}

TEST_F(ConservativeTest, CountsAMasterInConflict) {
  becomes(0, State::conflict);
  becomes(2, State::master);
  EXPECT_EQ(violations.count(), 1U);
}

TEST_F(ConservativeTest, IgnoresACrashedMaster) {
  becomes(0, State::master);
  world.running[0] = false;
  checker.disturbed(world, NodeId{0}, "crashes");
  becomes(1, State::master);
  EXPECT_EQ(violations.count(), 0U);
}

// A candidate of the other part may win shortly after the parts have joined.
TEST_F(ConservativeTest, AllowsTimeAfterPartsJoin) {
  becomes(0, State::master);
  checker.disturbed(world, kNobody, "whole");
  world.clock += 1s + 2 * 50ms - 1ns;  // start-up and no-master, or accept, and two delays
  becomes(1, State::master);
  EXPECT_EQ(violations.count(), 0U);
  world.clock += 1ns;
  becomes(2, State::master);
  EXPECT_EQ(violations.count(), 2U) << "beside 1 and beside 2";
}

TEST_F(ConservativeTest, AllowsMastersOfTwoParts) {
  world.cut_both_ways(0, 2);
  world.cut_both_ways(0, 1);
  becomes(0, State::master);
  becomes(2, State::master);
  EXPECT_EQ(violations.count(), 0U);
}

TEST_F(ConservativeTest, IsNotCheckedUnderLoss) {
  Conservative lenient{violations, kLan, false};
  world.machines[0].state_now = world.machines[1].state_now = State::master;
  lenient.stepped(world, NodeId{0});
  lenient.stepped(world, NodeId{1});
  EXPECT_EQ(violations.count(), 0U);
}

// --- sole-candidate-wins ---

class SoleCandidateTest : public ::testing::Test {
 protected:
  SoleCandidateTest() {
    for (std::uint32_t i = 0; i < world.size(); ++i) becomes(i, State::slave);
  }
  void becomes(std::uint32_t node, State state) {
    world.machines[node].state_now = state;
    checker.stepped(world, NodeId{node});
  }

  FakeWorld world{3};
  Violations violations;
  SoleCandidateWins checker{violations, kLan, true};
};

TEST_F(SoleCandidateTest, HoldsIfItWins) {
  becomes(1, State::candidate);
  becomes(1, State::master);
  EXPECT_EQ(violations.count(), 0U);
}

TEST_F(SoleCandidateTest, IsViolatedIfItLoses) {
  becomes(1, State::candidate);
  becomes(1, State::slave);
  EXPECT_THAT(broken(violations),
              ElementsAre("sole-candidate-wins: 2 stood alone and became slave"));
}

TEST_F(SoleCandidateTest, IsExcusedByARival) {
  becomes(0, State::candidate);
  becomes(1, State::candidate);
  becomes(0, State::slave);
  becomes(1, State::slave);
  EXPECT_EQ(violations.count(), 0U);
}

TEST_F(SoleCandidateTest, IsExcusedByALiveMaster) {
  becomes(0, State::master);
  becomes(1, State::candidate);
  becomes(1, State::slave);
  EXPECT_EQ(violations.count(), 0U);
}

// A node that accepted an earlier candidate refuses the next one until its accept timer expires.
TEST_F(SoleCandidateTest, RemembersAnEarlierCandidacyForOneAcceptTime) {
  becomes(0, State::candidate);
  becomes(0, State::master);
  becomes(0, State::slave);
  world.clock += 1s + 2 * 50ms - 1ns;
  becomes(1, State::candidate);
  becomes(1, State::slave);
  EXPECT_EQ(violations.count(), 0U);
  world.clock += 1s + 2 * 50ms;
  becomes(2, State::candidate);
  becomes(2, State::slave);
  EXPECT_EQ(violations.count(), 1U);
}

TEST_F(SoleCandidateTest, IsExcusedByAFaultDuringTheCandidacy) {
  becomes(1, State::candidate);
  checker.disturbed(world, NodeId{0}, "crashes");
  becomes(1, State::slave);
  EXPECT_EQ(violations.count(), 0U);
}

// --- violations ---

TEST(Violations, AreAllCountedAndTheFirstKept) {
  Violations violations;
  for (int i = 0; i < 100; ++i) violations.add({"one-master", Instant{1s}, std::to_string(i)});
  EXPECT_EQ(violations.count(), 100U);
  EXPECT_EQ(violations.kept().size(), 16U);
  EXPECT_EQ(violations.kept().back().seen, "15");
}

}  // namespace
}  // namespace tempo::sim::election
