#include "protocol/lock/bounds_monitor.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tempo::locks {
namespace {

using ::testing::HasSubstr;

constexpr BoundsMonitor::Rules kRules{.interval = 20ms, .delay_max = 10ms, .clean = 5};

// Three members that send heartbeats in turn; a heartbeat takes 1 ms.
class MonitorCluster {
 public:
  MonitorCluster() {
    for (std::uint32_t i = 0; i < 3; ++i) sites_.emplace_back(kRules, i, 3, 1);
  }
  BoundsMonitor& operator[](std::size_t i) { return sites_[i]; }
  std::string why(std::size_t i) const {
    const BoundsMonitor::Breach& breach = sites_[i].why();
    return BoundsMonitor::text_of(breach, kRules, std::string(1, "abc"[breach.member]));
  }

  // One heartbeat of each member; `delivers` decides which arrive.
  void beat(const std::function<bool(std::uint32_t, std::uint32_t)>& delivers = {}) {
    now_ += kRules.interval - 3 * delay_;
    for (std::uint32_t from = 0; from < 3; ++from) {
      const wire::BeatBody body = sites_[from].beat(now_, true);
      now_ += delay_;
      for (std::uint32_t to = 0; to < 3; ++to)
        if (to != from && (!delivers || delivers(from, to)))
          sites_[to].receive(now_, from, incarnations_[from], body);
    }
    for (BoundsMonitor& site : sites_) site.expire_silent(now_);
  }
  void beats(int count) {
    for (int i = 0; i < count; ++i) beat();
  }
  // A message to all members; those in `received_by` receive it.
  void send(std::uint32_t from, const std::vector<std::uint32_t>& received_by) {
    sites_[from].sent_to_all();
    for (const std::uint32_t to : received_by) sites_[to].received(now_, from, incarnations_[from]);
  }
  void restart(std::uint32_t site) {
    incarnations_[site] = Incarnation{std::to_underlying(incarnations_[site]) + 1};
    sites_[site] = BoundsMonitor(kRules, site, 3, 1);
  }
  void delay(Nanos delay) { delay_ = delay; }
  BootTime now() const { return now_; }

 private:
  std::vector<BoundsMonitor> sites_;
  std::array<Incarnation, 3> incarnations_{Incarnation{1}, Incarnation{1}, Incarnation{1}};
  BootTime now_{Nanos{1'000'000'000}};
  Nanos delay_ = 1ms;
};

TEST(BoundsMonitor, TrustsAfterEnoughCleanBeats) {
  MonitorCluster cluster;
  EXPECT_EQ(cluster.why(0), "no heartbeat from b yet");
  cluster.beats(2);
  EXPECT_EQ(cluster.why(0), "delays are still being measured");
  EXPECT_FALSE(cluster[0].holds());
  cluster.beats(5);
  EXPECT_TRUE(cluster[0].holds() && cluster[1].holds() && cluster[2].holds());
  EXPECT_EQ(cluster.why(0), "");
}

TEST(BoundsMonitor, ASlowRoundTripBreaksTheBounds) {
  MonitorCluster cluster;
  cluster.beats(8);
  cluster.delay(21ms);
  cluster.beat();
  cluster.delay(1ms);
  cluster.beat();
  EXPECT_FALSE(cluster[0].holds());
  EXPECT_THAT(cluster.why(0), HasSubstr("more than two delays of 10ms"));
  cluster.beats(3);
  EXPECT_FALSE(cluster[0].holds()) << "one clean beat is not enough";
  cluster.beats(4);
  EXPECT_TRUE(cluster[0].holds());
}

TEST(BoundsMonitor, ALostMessageBreaksTheBoundsAtBothEnds) {
  MonitorCluster cluster;
  cluster.beats(8);
  cluster.send(0, {2});
  cluster.beats(3);
  EXPECT_EQ(cluster.why(0), "a datagram to b was lost");
  EXPECT_EQ(cluster.why(1), "a datagram from a was lost");
  EXPECT_TRUE(cluster[2].holds());
  cluster.beats(10);
  EXPECT_TRUE(cluster[0].holds()) << "an earlier loss does not count again";
  cluster.send(0, {2});
  cluster.beats(3);
  EXPECT_FALSE(cluster[0].holds());
}

TEST(BoundsMonitor, ManyMessagesAreNotALoss) {
  MonitorCluster cluster;
  for (int i = 0; i < 100; ++i) {
    for (int messages = 0; messages < i % 7; ++messages)
      cluster.send(static_cast<std::uint32_t>(i % 3), {0, 1, 2});
    cluster.beat();
  }
  EXPECT_TRUE(cluster[0].holds()) << cluster.why(0);
}

TEST(BoundsMonitor, ALostBeatBreaksTheBounds) {
  MonitorCluster cluster;
  cluster.beats(8);
  cluster.beat([](std::uint32_t from, std::uint32_t to) { return from != 2 || to != 0; });
  cluster.beat();
  EXPECT_EQ(cluster.why(0), "a datagram from c was lost");
  EXPECT_TRUE(cluster[1].holds());
}

TEST(BoundsMonitor, ASilentMemberBreaksTheBounds) {
  MonitorCluster cluster;
  cluster.beats(8);
  for (int i = 0; i < 5; ++i)
    cluster.beat([](std::uint32_t from, std::uint32_t) { return from != 2; });
  EXPECT_TRUE(cluster[0].holds()) << "a short silence is not a breach";
  for (int i = 0; i < 3; ++i)
    cluster.beat([](std::uint32_t from, std::uint32_t) { return from != 2; });
  EXPECT_EQ(cluster.why(0), "c has been silent for 120ms");
}

TEST(BoundsMonitor, ARestartOrOtherVotersBreakTheBounds) {
  MonitorCluster cluster;
  cluster.beats(8);
  cluster.restart(1);
  cluster.beat();
  EXPECT_EQ(cluster.why(0), "b has restarted");
  cluster.beats(10);
  EXPECT_TRUE(cluster[0].holds());
  cluster[0].receive(cluster.now(), 1, Incarnation{2}, wire::BeatBody{.view = 2, .number = 1000});
  EXPECT_EQ(cluster.why(0), "b has a different set of voters");
}

TEST(BoundsMonitor, APauseOfThisHostBreaksTheBounds) {
  MonitorCluster cluster;
  cluster.beats(8);
  cluster[0].stalled(10ms);
  EXPECT_TRUE(cluster[0].holds());
  cluster[0].stalled(11ms);
  EXPECT_EQ(cluster.why(0), "this machine was paused for 11ms");
  cluster.beats(5);
  EXPECT_TRUE(cluster[0].holds());
}

// Silence is confirmed when all members have later reported that the message arrived, and all their
// messages are here.
TEST(BoundsMonitor, ConfirmsDeliveryAtAllMembers) {
  MonitorCluster cluster;
  cluster.beats(8);
  cluster.send(0, {1, 2});
  const BoundsMonitor::Mark mark = cluster[0].mark();
  EXPECT_FALSE(cluster[0].confirmed(mark));
  cluster.beats(2);
  EXPECT_TRUE(cluster[0].confirmed(mark));

  cluster.send(0, {1});
  const BoundsMonitor::Mark lost = cluster[0].mark();
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(cluster[0].confirmed(lost)) << i;
    cluster.beat();
  }
  EXPECT_FALSE(cluster[0].holds());
}

TEST(BoundsMonitor, ConfirmsNothingWhileAReplyIsMissing) {
  MonitorCluster cluster;
  cluster.beats(8);
  cluster.send(0, {1, 2});
  cluster[1].sent(0);  // its refusal is lost
  const BoundsMonitor::Mark mark = cluster[0].mark();
  cluster.beats(4);
  EXPECT_FALSE(cluster[0].confirmed(mark) && cluster[0].holds());
  EXPECT_EQ(cluster.why(0), "a datagram from b was lost");
}

TEST(BoundsMonitor, NeedsTheSupportOfMoreThanHalf) {
  MonitorCluster cluster;
  cluster.beats(2);
  EXPECT_TRUE(cluster[0].supported(cluster.now(), 100ms));
  for (int i = 0; i < 10; ++i)
    cluster.beat([](std::uint32_t from, std::uint32_t to) { return from + to == 1; });
  EXPECT_TRUE(cluster[0].supported(cluster.now(), 100ms)) << "a and b";
  for (int i = 0; i < 10; ++i) cluster.beat([](std::uint32_t, std::uint32_t) { return false; });
  EXPECT_FALSE(cluster[0].supported(cluster.now(), 100ms));
}

}  // namespace
}  // namespace tempo::locks
