// Rings of a few hosts, with a network in a list. Whole groups under every fault are in
// src/lab/sim/groups, the machines themselves in src/lab/sim/ring and src/lab/check/ring.
#include "protocol/group/ring_elections.h"

#include <deque>
#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "base/random.h"

namespace tempo::groups {
namespace {

constexpr Nanos kLease = 1s;

Ring ring_of(const std::vector<std::uint32_t>& numbers) {
  Ring ring;
  for (const std::uint32_t number : numbers) {
    ring.members.push_back(NodeId{number});
    ring.sum += number;
  }
  return ring;
}

// Hosts with the numbers 10, 20 and so on, each knowing the same ring unless told otherwise. A
// message takes a millisecond.
class RingCluster {
 public:
  explicit RingCluster(std::uint32_t hosts, std::uint64_t seed = 7) : chance_(seed, 0, 0) {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t i = 1; i <= hosts; ++i) numbers.push_back(10 * i);
    for (const std::uint32_t number : numbers) {
      hosts_.emplace(number,
                     std::make_unique<RingElections>(NodeId{number}, Incarnation{1}, kLease));
      knows[number] = ring_of(numbers);
    }
  }

  RingElections& host(std::uint32_t number) { return *hosts_.at(number); }
  void restart(std::uint32_t number) {
    hosts_[number] = std::make_unique<RingElections>(NodeId{number}, Incarnation{2}, kLease);
    results.erase(number);
  }
  void hold(std::uint32_t number, Algorithm algorithm = Algorithm::ring) {
    RingElections::Results came;
    host(number).hold(now, draw_, algorithm, knows[number], came);
    take(number, came);
  }
  void pass(Nanos span) {
    for (const Instant end = now + span; now < end; now += 1ms) {
      std::deque<std::pair<std::uint32_t, OnRing>> arriving;
      std::swap(arriving, under_way_);
      for (const auto& [from, said] : arriving) {
        const std::uint32_t to = index(said.to);
        if (dead.contains(to)) continue;
        RingElections::Results came;
        host(to).receive(now, draw_, NodeId{from}, said, knows[to], came);
        take(to, came);
      }
      for (const auto& [number, machine] : hosts_) {
        if (dead.contains(number) || machine->due() > now) continue;
        RingElections::Results came;
        machine->on_timer(now, draw_, came);
        take(number, came);
      }
    }
  }
  // Whom all that live take as elected; nobody: they do not agree.
  NodeId elected() const {
    NodeId all = kNobody;
    for (const auto& [number, machine] : hosts_) {
      if (dead.contains(number)) continue;
      const auto found = results.find(number);
      if (found == results.end() || !found->second.elected) return kNobody;
      if (all != kNobody && all != *found->second.elected) return kNobody;
      all = *found->second.elected;
    }
    return all;
  }

  Instant now{1000s};
  std::map<std::uint32_t, Ring> knows;
  std::map<std::uint32_t, bool> dead;
  std::map<std::uint32_t, RingElections::Results> results;  // the last of each
  std::uint64_t messages = 0;

 private:
  void take(std::uint32_t number, const RingElections::Results& came) {
    messages += came.said.size();
    for (const OnRing& said : came.said) under_way_.emplace_back(number, said);
    if (came.elected || came.defeated) results[number] = came;
  }

  std::map<std::uint32_t, std::unique_ptr<RingElections>> hosts_;
  std::deque<std::pair<std::uint32_t, OnRing>> under_way_;
  Stream chance_;
  StreamDraw draw_{chance_};
};

TEST(RingElections, EndWithOneThatAllKnow) {
  RingCluster cluster(4);
  cluster.hold(30);
  cluster.pass(kLease / 2);
  EXPECT_NE(cluster.elected(), kNobody);
}

TEST(RingElections, HeldByAllAtOnceAreOne) {
  RingCluster cluster(3);
  for (const std::uint32_t number : {10U, 20U, 30U}) cluster.hold(number);
  cluster.pass(kLease / 2);
  EXPECT_NE(cluster.elected(), kNobody);
  for (const std::uint32_t number : {10U, 20U, 30U}) EXPECT_EQ(cluster.host(number).last(), 1);
}

TEST(RingElections, UnderWayAreNotHeldAgain) {
  RingCluster cluster(3);
  cluster.hold(10);
  cluster.pass(2ms);
  ASSERT_TRUE(cluster.results.empty());
  cluster.hold(20);
  cluster.pass(kLease / 2);
  EXPECT_NE(cluster.elected(), kNobody);
  EXPECT_EQ(cluster.host(10).last(), 1);
  cluster.hold(20);
  EXPECT_EQ(cluster.host(20).last(), 2) << "this one was over";
}

TEST(RingElections, AloneElectThemselves) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::ring_anonymous}) {
    RingCluster cluster(1);
    cluster.hold(10, algorithm);
    cluster.pass(kLease);
    EXPECT_EQ(cluster.elected(), NodeId{10}) << name_of(algorithm);
    EXPECT_EQ(cluster.messages, 0);
  }
}

TEST(RingElections, PassOverTheDead) {
  RingCluster cluster(4);
  cluster.dead[20] = cluster.dead[30] = true;
  cluster.hold(10);
  cluster.pass(kLease);
  const NodeId elected = cluster.elected();
  EXPECT_TRUE(elected == NodeId{10} || elected == NodeId{40});
}

// In the next election those that were passed over are asked again.
TEST(RingElections, BeginWithAllOfTheRing) {
  RingCluster cluster(3);
  cluster.dead[20] = true;
  cluster.hold(10);
  cluster.pass(3 * kLease);
  cluster.dead.clear();
  cluster.restart(20);
  cluster.results.clear();
  cluster.hold(30);
  cluster.pass(kLease / 2);
  EXPECT_NE(cluster.elected(), kNobody);
  EXPECT_EQ(cluster.host(20).last(), 2);
}

// A host that has forgotten all learns of earlier elections from words before it holds one.
TEST(RingElections, OfARestartedHostCountOn) {
  RingCluster cluster(3);
  cluster.hold(10);
  cluster.pass(3 * kLease);
  cluster.restart(10);
  cluster.results.clear();
  cluster.hold(10);
  cluster.pass(kLease / 16);
  EXPECT_FALSE(cluster.results.contains(20)) << "an election that was before";
  cluster.restart(10);
  cluster.host(10).learn(1);
  cluster.hold(10);
  cluster.pass(kLease / 2);
  EXPECT_NE(cluster.elected(), kNobody);
}

TEST(RingElections, AreDeafToOtherRings) {
  RingCluster cluster(3);
  cluster.knows[30] = ring_of({10, 30});
  cluster.hold(10);
  cluster.pass(kLease);
  EXPECT_TRUE(cluster.results.contains(10));
  EXPECT_TRUE(cluster.results.contains(20));
  EXPECT_FALSE(cluster.results.contains(30));
}

TEST(RingElections, AreJoinedAsSoonAsTheRingIsKnown) {
  RingCluster cluster(3);
  const Ring whole = cluster.knows[30];
  cluster.knows[30] = ring_of({10, 30});
  cluster.hold(10);
  cluster.pass(kLease / 32);
  EXPECT_EQ(cluster.host(30).due(), kNever) << "not on another";
  cluster.knows[30] = whole;
  cluster.pass(kLease / 4);
  EXPECT_NE(cluster.elected(), kNobody);
}

TEST(RingElections, WithoutNamesTellOneThatItIsElected) {
  int elections = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RingCluster cluster(3, seed);
    cluster.hold(20, Algorithm::ring_anonymous);
    cluster.pass(2 * kLease - 10ms);
    std::size_t elected = 0;
    for (const auto& [number, result] : cluster.results) {
      elected += result.elected == NodeId{number} ? 1U : 0U;
      EXPECT_TRUE(result.defeated || result.elected == NodeId{number}) << "nobody names another";
    }
    if (cluster.results.size() == 3) {
      ++elections;
      EXPECT_GE(elected, 1);
    }
  }
  EXPECT_GT(elections, 14) << "a few take too long";
}

// Links are watched while there is an election, and not for ever.
TEST(RingElections, AreOverAfterTwoLeases) {
  RingCluster cluster(3);
  cluster.hold(10);
  cluster.pass(2 * kLease + 50ms);
  const std::uint64_t messages = cluster.messages;
  cluster.pass(5 * kLease);
  EXPECT_EQ(cluster.messages, messages);
  for (const std::uint32_t number : {10U, 20U, 30U}) EXPECT_EQ(cluster.host(number).due(), kNever);
}

TEST(RingElections, AreNotHeldWhereNobodyStands) {
  RingCluster cluster(3);
  cluster.knows[20] = ring_of({10, 30});
  cluster.hold(20);
  cluster.pass(kLease);
  EXPECT_EQ(cluster.messages, 0);
  EXPECT_TRUE(cluster.results.empty());
}

}  // namespace
}  // namespace tempo::groups
