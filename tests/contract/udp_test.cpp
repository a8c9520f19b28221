// The toy machines over UDP between two processes: the same classes, real sockets, real time.
#include "udp.h"

#include <array>
#include <cstdint>

#include <gtest/gtest.h>

#include "toys.h"

namespace tempo::toys {
namespace {

TEST(HeartbeatOverUdp, TrustsLiveNodesAndSuspectsEndedNodes) {
  Pair<Heartbeat> pair{[](NodeId) { return Heartbeat{{.period = 20ms, .timeout = 200ms}}; }};
  std::array<bool, 2> trusted{};
  const auto record = [&](NodeId node, const Heartbeat::Notice& notice) {
    EXPECT_NE(notice.node, node);
    trusted[index(node)] = notice.trusted;
  };
  EXPECT_TRUE(pair.await([&](NodeId node, const Heartbeat::Notice& notice) {
    record(node, notice);
    return trusted[0] && trusted[1];
  }));
  EXPECT_EQ(pair.end(node_at(1)), 0);
  EXPECT_TRUE(pair.await([&](NodeId node, const Heartbeat::Notice& notice) {
    record(node, notice);
    return !trusted[0];
  }));
  EXPECT_EQ(pair.end(node_at(0)), 0);
}

TEST(LotsOverUdp, AgreeOnOneLeader) {
  // Each node loses its first claim, so that both may lead for a while.
  Pair<Lots<>> pair{[](NodeId self) { return Lots<>{self, {.lots = 8, .slot = 5ms}}; }, 1};
  std::array<NodeId, 2> leaders{kNobody, kNobody};
  EXPECT_TRUE(pair.await([&](NodeId node, const Lots<>::Notice& notice) {
    leaders[index(node)] = notice.leader;
    return leaders[0] == leaders[1];
  }));
  EXPECT_NE(leaders[0], kNobody);
  EXPECT_EQ(pair.end(node_at(0)), 0);
  EXPECT_EQ(pair.end(node_at(1)), 0);
}

// The first datagram of each node is lost: node 0 loses its first `add`, so that node 1 receives
// only the second; node 1 loses its answer, so that node 0 sends a third, which must not be added
// again.
TEST(TallyOverUdp, AddsOnceDespiteLosses) {
  using Toy = Tally<>;
  Pair<Toy> pair{[](NodeId self) {
                   return Toy{self,
                              Incarnation{7 + index(self)},
                              {.nodes = 2, .post = {.interval = 10ms, .sends = 12}}};
                 },
                 1};
  // Notices of the two nodes arrive in any order, so each is recorded.
  std::array<std::uint32_t, 2> totals{};
  std::array<int, 2> added_there{};
  const auto await = [&](auto done) {
    return pair.await([&](NodeId node, const Toy::Notice& notice) {
      EXPECT_NE(notice.event, Toy::Event::gave_up_on);
      if (notice.event == Toy::Event::total_is) totals[index(node)] = notice.total;
      if (notice.event == Toy::Event::added_at) ++added_there[index(notice.node)];
      return done();
    });
  };
  pair.command(node_at(0), {.add = 5});
  EXPECT_TRUE(await([&] { return totals[1] != 0 && added_there[1] == 1; }));
  EXPECT_EQ(totals, (std::array{5U, 5U}));
  pair.command(node_at(1), {.add = 7});
  EXPECT_TRUE(await([&] { return totals[0] != 5 && added_there[0] == 1; }));
  EXPECT_EQ(totals, (std::array{12U, 12U}));
}

TEST(LeadershipOverUdp, ReplacesALeaderThatEnds) {
  using Toy = Leadership<>;
  Pair<Toy> pair{[](NodeId self) {
    return Toy{Heartbeat{{.period = 20ms, .timeout = 200ms}},
               Lots<>{self, {.lots = 8, .slot = 5ms}}};
  }};
  std::array<NodeId, 2> leaders{kNobody, kNobody};
  const auto record = [&](NodeId node, const Toy::Notice& notice) {
    if (const auto* update = std::get_if<1>(&notice.body)) leaders[index(node)] = update->leader;
  };
  ASSERT_TRUE(pair.await([&](NodeId node, const Toy::Notice& notice) {
    record(node, notice);
    return leaders[0] == leaders[1] && leaders[0] != kNobody;
  }));
  const NodeId first = leaders[0];
  const NodeId other = node_at(1 - index(first));
  EXPECT_EQ(pair.end(first), 0);
  EXPECT_TRUE(pair.await([&](NodeId node, const Toy::Notice& notice) {
    record(node, notice);
    return leaders[index(other)] == other;
  }));
  EXPECT_EQ(pair.end(other), 0);
}

}  // namespace
}  // namespace tempo::toys
