// Several networks joined by gateways, which are on two of them: submasters and time loops.
#include <algorithm>
#include <deque>
#include <queue>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "protocol/sync/node.h"

namespace tempo::node {
namespace {

constexpr WallTime kWall{1'700'000'000s};
constexpr Nanos kDelay = 150us;

// Nodes on LANs: a message reaches every other node on its LAN after a constant delay. Every clock
// has its own offset and rate.
class Networks {
 public:
  struct Placed {
    std::vector<int> networks;  // LAN of each of the node's networks
    Nanos offset{0};
    double rate = 0;
    int at_start = 2;  // maximum number of networks at the start; `join` adds others
  };

  explicit Networks(const std::vector<Placed>& placed)
      : rules_{.timing = *election::profile("lan")}, placed_(placed) {
    for (std::uint32_t i = 0; i < placed.size(); ++i)
      nodes_.emplace_back(
          Node({.self = NodeId{i}, .incarnation = Incarnation{i + 1}},
               static_cast<std::uint8_t>(std::min<std::size_t>(
                   placed[i].networks.size(), static_cast<std::size_t>(placed[i].at_start))),
               rules_, {.now = Instant{}, .shows = kWall + placed[i].offset}, sync_rules_));
    up_.assign(placed.size(), true);
  }

  void start() {
    for (std::uint32_t i = 0; i < nodes_.size(); ++i)
      step(i, [](Node& node, auto& turn) { node.start(turn); });
  }
  void join(std::uint32_t i, std::uint8_t network) {
    step(i, [&](Node& node, auto& turn) { node.command(turn, Node::Join{network}); });
  }
  void crash(std::uint32_t i) { up_[i] = false; }
  void resign(std::uint32_t i) {
    step(i, [](Node& node, auto& turn) {
      node.command(turn, Node::ElectionCommand{0, election::Command::resign});
    });
  }
  int circles() const { return circles_; }  // time loops reported so far

  void run(Nanos span) {
    const Instant end = now_ + span;
    for (int events = 0; events < 5'000'000; ++events) {
      // The earliest timer or message; at equal times messages come first.
      Instant next = end;
      std::uint32_t owner = 0;
      for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
        if (!up_[i]) continue;
        const Instant due = truth(i, nodes_[i].timers().first());
        if (due < next) {
          next = due;
          owner = i;
        }
      }
      if (!mail_.empty() && mail_.front().at <= next) {
        const Mail mail = mail_.front();
        mail_.pop_front();
        now_ = std::max(now_, mail.at);
        if (up_[mail.to])
          step(mail.to,
               [&](Node& node, auto& turn) { node.receive(turn, mail.from, mail.message); });
        continue;
      }
      now_ = std::max(now_, next);
      if (next == end) return;
      step(owner, [](Node& node, auto& turn) { node.on_timer(turn, node.timers().first_name()); });
    }
    FAIL() << "too many events";
  }

  const Node& node(std::uint32_t i) const { return nodes_[i]; }
  WallTime shows(std::uint32_t i) const { return nodes_[i].sync().reading(local(i, now_)).time; }
  Nanos spread() const {
    WallTime low = WallTime::max();
    WallTime high = WallTime::min();
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (!up_[i]) continue;
      low = std::min(low, shows(i));
      high = std::max(high, shows(i));
    }
    return high - low;
  }
  std::vector<std::uint32_t> roots() const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 0; i < nodes_.size(); ++i)
      if (up_[i] && nodes_[i].sync().leads()) found.push_back(i);
    return found;
  }
  bool masters_in(std::uint32_t i, std::uint8_t network) const {
    return nodes_[i].network(network)->state() == election::State::master;
  }

 private:
  struct Mail {
    Instant at;
    std::uint32_t to;
    NodeId from;
    Node::Message message;
  };

  Instant local(std::uint32_t i, Instant truth) const {
    return truth + Nanos{std::llround(static_cast<double>(truth.time_since_epoch().count()) *
                                      placed_[i].rate)};
  }
  Instant truth(std::uint32_t i, Instant local) const {
    if (local == kNever) return kNever;
    return Instant{Nanos{std::llround(static_cast<double>(local.time_since_epoch().count()) /
                                      (1 + placed_[i].rate))} +
                   1ns};
  }

  template <class Function>
  void step(std::uint32_t i, Function function) {
    out_.clear();
    StreamDraw draw(chance_);
    Turn<Node> turn{local(i, now_), draw, out_};
    function(nodes_[i], turn);
    ASSERT_EQ(nodes_[i].check(), nullptr) << nodes_[i].check();
    for (const auto& output : out_) {
      if (output.kind == OutputKind::notice) {
        circles_ += std::holds_alternative<Node::TimeLoop>(output.notice) ? 1 : 0;
        continue;
      }
      const int lan = placed_[i].networks.at(output.message.network);
      for (std::uint32_t to = 0; to < nodes_.size(); ++to) {
        const auto slot = std::ranges::find(placed_[to].networks, lan);
        if (to == i || slot == placed_[to].networks.end()) continue;
        if (output.kind == OutputKind::send && output.to != NodeId{to}) continue;
        Mail mail{.at = now_ + kDelay, .to = to, .from = NodeId{i}, .message = output.message};
        mail.message.network = static_cast<std::uint8_t>(slot - placed_[to].networks.begin());
        mail_.push_back(mail);
      }
    }
  }

  election::Rules rules_;
  SyncRules sync_rules_{};
  std::vector<Placed> placed_;
  std::vector<Node> nodes_;
  std::vector<bool> up_;
  std::deque<Mail> mail_;  // in the order of sending, because all delays are equal
  Outbox<Node> out_;
  Stream chance_{1, 1, 1};
  Instant now_{};
  int circles_ = 0;
};

TEST(Networks, AGatewayDistributesTheTimeOfOneToTheOther) {
  // Nodes 0 to 2 are on the first LAN, 3 to 5 on the second, 6 is on both.
  Networks networks({{{0}, 100ms, 20e-6},
                     {{0}, -50ms, -30e-6},
                     {{0}, 70ms, 10e-6},
                     {{1}, 400ms, 15e-6},
                     {{1}, -300ms, -5e-6},
                     {{1}, 20ms, 40e-6},
                     {{0, 1}, -80ms, -20e-6}});
  networks.start();
  networks.run(40s);
  EXPECT_EQ(networks.roots().size(), 1U);
  EXPECT_LT(networks.spread(), 2ms);
  // The gateway is master in at least one network.
  EXPECT_TRUE(networks.masters_in(6, 0) || networks.masters_in(6, 1));
}

// Nodes that have followed the gateway may be far from the time of the network that it joins. They
// step with the gateway; a slew of a quarter of a second would take eight minutes.
TEST(Networks, FollowersOfAGatewayStepWithIt) {
  Networks networks({{{0}, 40ms, 20e-6},
                     {{0}, -60ms, -30e-6},
                     {{0, 1}, 0ms, 10e-6, 1},
                     {{1}, 250ms, 15e-6},
                     {{1}, 250ms, -5e-6}});
  networks.start();
  networks.run(20s);
  for (int i = 0; i < 10 && !networks.masters_in(2, 0); ++i) {
    for (const std::uint32_t root : networks.roots())
      if (root < 2) networks.resign(root);
    networks.run(20s);
  }
  ASSERT_TRUE(networks.masters_in(2, 0));
  ASSERT_GT(networks.spread(), 200ms);
  networks.join(2, 1);
  networks.run(15s);
  ASSERT_EQ(networks.roots().size(), 1U);
  EXPECT_GE(networks.roots().front(), 3U);
  EXPECT_TRUE(networks.masters_in(2, 0));
  EXPECT_LT(networks.spread(), 2ms);
}

// A network whose own master has set it steps to the time of the gateway that takes it over.
TEST(Networks, NodesTakenOverByAGatewayStepToItsTime) {
  Networks networks({{{0}, 40ms, 20e-6},
                     {{0}, -60ms, -30e-6},
                     {{1, 0}, 250ms, 10e-6, 1},
                     {{1}, 300ms, 15e-6},
                     {{1}, 350ms, -5e-6}});
  networks.start();
  networks.run(20s);
  for (int i = 0; i < 10 && networks.masters_in(2, 0); ++i) {
    networks.resign(2);
    networks.run(20s);
  }
  ASSERT_FALSE(networks.masters_in(2, 0));
  ASSERT_GT(networks.spread(), 100ms);
  networks.join(2, 1);
  networks.run(15s);
  ASSERT_EQ(networks.roots().size(), 1U);
  EXPECT_TRUE(networks.masters_in(2, 1));
  EXPECT_LT(networks.spread(), 2ms);
}

// Each gateway could distribute the root's time to the other network. The one that does keeps the
// mastership, whichever has the higher number.
TEST(Networks, TwoGatewaysDoNotClaimANetworkAlternately) {
  std::vector<Networks::Placed> placed{{{0}, 0ms, 20e-6},      {{0}, 50ms, -10e-6},
                                       {{1}, -50ms, -30e-6},   {{1}, 70ms, 10e-6},
                                       {{0, 1}, 400ms, 15e-6}, {{0, 1}, -300ms, -5e-6}};
  for (std::size_t turn = 0; turn < placed.size(); ++turn) {
    std::ranges::rotate(placed, placed.begin() + 1);
    Networks networks(placed);
    networks.start();
    networks.run(60s);
    ASSERT_EQ(networks.roots().size(), 1U) << turn;
    EXPECT_LT(networks.spread(), 2ms) << turn;
    const std::uint32_t dead = networks.roots().front();
    networks.crash(dead);
    networks.run(60s);
    ASSERT_EQ(networks.roots().size(), 1U) << turn;
    for (std::uint32_t i = 0; i < placed.size(); ++i)
      for (std::uint8_t network = 0; network < placed[i].networks.size() && i != dead; ++network)
        EXPECT_LT(networks.node(i).network(network)->followed().round, 20U) << turn << ' ' << i;
  }
}

TEST(Networks, ARingOfNetworksHasOneRoot) {
  Networks networks({{{0}, 100ms, 20e-6},
                     {{1}, -50ms, -30e-6},
                     {{2}, 70ms, 10e-6},
                     {{0, 1}, 400ms, 15e-6},
                     {{1, 2}, -300ms, -5e-6},
                     {{2, 0}, 20ms, 40e-6}});
  networks.start();
  networks.run(60s);
  EXPECT_EQ(networks.roots().size(), 1U);
  EXPECT_LT(networks.spread(), 2ms);
}

// When the root dies, its time may still travel round the ring. No node may follow such a time loop
// permanently. Whether one arises depends on the masters of the networks.
TEST(Networks, ATimeLoopIsCut) {
  std::vector<Networks::Placed> placed{{{0}, 100ms, 20e-6},     {{1}, -50ms, -30e-6},
                                       {{2}, 70ms, 10e-6},      {{0, 1}, 400ms, 15e-6},
                                       {{1, 2}, -300ms, -5e-6}, {{2, 0}, 20ms, 40e-6}};
  int circles = 0;
  for (std::size_t turn = 0; turn < placed.size(); ++turn) {
    std::ranges::rotate(placed, placed.begin() + 1);
    Networks networks(placed);
    networks.start();
    networks.run(60s);
    ASSERT_EQ(networks.roots().size(), 1U);
    const std::uint32_t dead = networks.roots().front();
    const int before = networks.circles();
    networks.crash(dead);
    networks.run(40s);
    circles += networks.circles() - before;
    ASSERT_EQ(networks.roots().size(), 1U) << turn;
    EXPECT_LT(networks.spread(), 2ms) << turn;
    for (std::uint32_t i = 0; i < placed.size(); ++i)
      if (i != dead) {
        EXPECT_NE(networks.node(i).path().root, NodeId{dead}) << turn << ' ' << i;
      }
  }
  EXPECT_GT(circles, 0) << "no time loop arose";
}

// The first message of a new master already has the master itself as root, so the old master does
// not take it for a time loop.
TEST(Networks, ANewMasterIsNoTimeLoop) {
  Networks networks({{{0}, 0ms, 0}, {{0}, 5ms, 0}, {{0}, 0ms, 0}});
  networks.start();
  networks.run(20s);
  ASSERT_EQ(networks.roots().size(), 1U);
  const std::uint32_t first = networks.roots().front();
  networks.resign(first);
  networks.run(20s);
  ASSERT_EQ(networks.roots().size(), 1U);
  EXPECT_NE(networks.roots().front(), first);
  EXPECT_EQ(networks.circles(), 0);
}

TEST(Networks, ANodeJoinsANetworkLater) {
  Networks networks({{{0}, 0ms, 0}, {{1}, 5ms, 0}, {{0, 1}, 0ms, 0, 1}});
  networks.start();
  networks.run(20s);
  EXPECT_EQ(networks.roots().size(), 2U);
  EXPECT_EQ(networks.node(2).network(1), nullptr);
  networks.join(2, 1);
  networks.run(20s);
  EXPECT_NE(networks.node(2).network(1), nullptr);
  EXPECT_EQ(networks.roots().size(), 1U);
  EXPECT_LT(networks.spread(), 1ms);
}

}  // namespace
}  // namespace tempo::node
