// Rings of a few hosts, on a network that is a list. The tests in src/lab/studies/group cover whole
// groups under every fault, those in src/lab/studies/group/ring the machines themselves.
#include "protocol/group/ring_elections.h"

#include <deque>
#include <map>

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

// Hosts with the numbers 10, 20 and so on; by default all know the same ring. A message takes a
// millisecond.
class RingCluster {
 public:
  explicit RingCluster(std::uint32_t hosts, std::uint64_t seed = 7) : chance_(seed, 0, 0) {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t i = 1; i <= hosts; ++i) numbers.push_back(10 * i);
    for (const std::uint32_t number : numbers) {
      hosts_.emplace(number, RingElections(NodeId{number}, Incarnation{1}, kLease));
      knows[number] = ring_of(numbers);
    }
  }

  RingElections& host(std::uint32_t number) { return hosts_.at(number); }
  void restart(std::uint32_t number) {
    hosts_.insert_or_assign(number, RingElections(NodeId{number}, Incarnation{2}, kLease));
    results.erase(number);
  }
  void hold(std::uint32_t number, Algorithm algorithm = Algorithm::ring) {
    command(number, RingElections::Hold{algorithm});
  }
  void learn(std::uint32_t number, std::uint32_t last) {
    command(number, RingElections::Learn{last});
  }
  void pass(Nanos span) {
    for (const BootTime end = now + span; now < end; now += 1ms) {
      std::deque<Sent> arriving;
      std::swap(arriving, in_transit_);
      for (const auto& [from, to, message] : arriving)
        if (!dead.contains(index(to)))
          step(index(to),
               [&](RingElections& machine, auto& turn) { machine.receive(turn, from, message); });
      for (const auto& [number, machine] : hosts_)
        if (const auto due = first_due(machine.timers(), now); due && !dead.contains(number))
          step(number, [&](RingElections& inner, auto& turn) { inner.on_timer(turn, *due); });
    }
  }
  // The host that all live hosts regard as elected; kNobody: they disagree.
  NodeId elected() const {
    NodeId all = kNobody;
    for (const auto& [number, machine] : hosts_) {
      if (dead.contains(number)) continue;
      const auto found = results.find(number);
      const auto* elected = found == results.end() ? nullptr : std::get_if<Elected>(&found->second);
      if (elected == nullptr || (all != kNobody && all != elected->node)) return kNobody;
      all = elected->node;
    }
    return all;
  }

  BootTime now{1000s};
  std::map<std::uint32_t, Ring> knows;
  std::map<std::uint32_t, bool> dead;
  std::map<std::uint32_t, ElectionNotice> results;  // the last result of each host
  std::uint64_t messages = 0;

 private:
  struct Sent {
    NodeId from = kNobody;
    NodeId to = kNobody;
    RingMessage message{};
  };

  void command(std::uint32_t number, const RingElections::Command& command) {
    step(number, [&](RingElections& machine, auto& turn) { machine.command(turn, command); });
  }
  template <class Do>
  void step(std::uint32_t number, Do todo) {
    Outbox<RingElections> out;
    Turn<RingElections> turn{now, draw_, out};
    host(number).command(turn, knows[number]);
    todo(host(number), turn);
    for (const auto& output : out) {
      if (output.kind == OutputKind::notice) {
        results[number] = output.notice;
        continue;
      }
      ++messages;
      in_transit_.push_back({NodeId{number}, output.to, output.message});
    }
  }

  std::map<std::uint32_t, RingElections> hosts_;
  std::deque<Sent> in_transit_;
  Stream chance_;
  StreamDraw draw_{chance_};
};

TEST(RingElections, AgreeOnOneLeader) {
  RingCluster cluster(4);
  cluster.hold(30);
  cluster.pass(kLease / 2);
  EXPECT_NE(cluster.elected(), kNobody);
}

TEST(RingElections, HeldByAllAtOnceAreOneElection) {
  RingCluster cluster(3);
  for (const std::uint32_t number : {10U, 20U, 30U}) cluster.hold(number);
  cluster.pass(kLease / 2);
  EXPECT_NE(cluster.elected(), kNobody);
  for (const std::uint32_t number : {10U, 20U, 30U}) EXPECT_EQ(cluster.host(number).last(), 1);
}

TEST(RingElections, AreNotHeldAgainWhileRunning) {
  RingCluster cluster(3);
  cluster.hold(10);
  cluster.pass(2ms);
  ASSERT_TRUE(cluster.results.empty());
  cluster.hold(20);
  cluster.pass(kLease / 2);
  EXPECT_NE(cluster.elected(), kNobody);
  EXPECT_EQ(cluster.host(10).last(), 1);
  cluster.hold(20);
  EXPECT_EQ(cluster.host(20).last(), 2) << "the first one was over";
}

TEST(RingElections, ElectASingleHost) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::ring_anonymous}) {
    RingCluster cluster(1);
    cluster.hold(10, algorithm);
    cluster.pass(kLease);
    EXPECT_EQ(cluster.elected(), NodeId{10}) << name_of(algorithm);
    EXPECT_EQ(cluster.messages, 0);
  }
}

TEST(RingElections, SkipDeadHosts) {
  RingCluster cluster(4);
  cluster.dead[20] = cluster.dead[30] = true;
  cluster.hold(10);
  cluster.pass(kLease);
  const NodeId elected = cluster.elected();
  EXPECT_TRUE(elected == NodeId{10} || elected == NodeId{40});
}

// The next election asks the skipped hosts again.
TEST(RingElections, BeginWithTheWholeRing) {
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

// A host without state learns of earlier elections from heartbeats before it holds one.
TEST(RingElections, OfARestartedHostCountOn) {
  RingCluster cluster(3);
  cluster.hold(10);
  cluster.pass(3 * kLease);
  cluster.restart(10);
  cluster.results.clear();
  cluster.hold(10);
  cluster.pass(kLease / 16);
  EXPECT_FALSE(cluster.results.contains(20)) << "an earlier election";
  cluster.restart(10);
  cluster.learn(10, 1);
  cluster.hold(10);
  cluster.pass(kLease / 2);
  EXPECT_NE(cluster.elected(), kNobody);
}

TEST(RingElections, IgnoreOtherRings) {
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
  EXPECT_EQ(cluster.host(30).timers().first(), kNever) << "it ignores another ring";
  cluster.knows[30] = whole;
  cluster.pass(kLease / 4);
  EXPECT_NE(cluster.elected(), kNobody);
}

TEST(RingElections, OnAnAnonymousRingElectOneHost) {
  int elections = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RingCluster cluster(3, seed);
    cluster.hold(20, Algorithm::ring_anonymous);
    cluster.pass(2 * kLease - 10ms);
    std::size_t elected = 0;
    for (const auto& [number, result] : cluster.results) {
      const auto* winner = std::get_if<Elected>(&result);
      elected += winner != nullptr ? 1U : 0U;
      EXPECT_TRUE(winner == nullptr || winner->node == NodeId{number}) << "no host names another";
    }
    if (cluster.results.size() == 3) {
      ++elections;
      EXPECT_GE(elected, 1);
    }
  }
  EXPECT_GT(elections, 14) << "a few take too long";
}

// A host probes its links during an election, and no longer.
TEST(RingElections, EndAfterTwoLeases) {
  RingCluster cluster(3);
  cluster.hold(10);
  cluster.pass(2 * kLease + 50ms);
  const std::uint64_t messages = cluster.messages;
  cluster.pass(5 * kLease);
  EXPECT_EQ(cluster.messages, messages);
  for (const std::uint32_t number : {10U, 20U, 30U})
    EXPECT_EQ(cluster.host(number).timers().first(), kNever);
}

TEST(RingElections, AreNotHeldWithoutACandidate) {
  RingCluster cluster(3);
  cluster.knows[20] = ring_of({10, 30});
  cluster.hold(20);
  cluster.pass(kLease);
  EXPECT_EQ(cluster.messages, 0);
  EXPECT_TRUE(cluster.results.empty());
}

}  // namespace
}  // namespace tempo::groups
