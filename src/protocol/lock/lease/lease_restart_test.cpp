// The lease lock, sections 8 and 11 of its specification: what a restarted member may rely on, and
// what a member may conclude from network time.
#include <gtest/gtest.h>

#include "protocol/lock/lease/lease_member.h"
#include "protocol/lock/lease/lease_test_cluster.h"

namespace tempo::lock::lease {
namespace {

// --- section 11 ---

// An ASK that was in transit for half a lease binds its grantor for only half a lease: network time
// shows its age.
TEST(LeaseTime, EndsThePromiseOfALateAsk) {
  Rules rules = kRules;
  for (const bool trusts : {true, false}) {
    rules.trust_time = trusts;
    Cluster cluster(3, rules);
    constexpr Nanos kShown = 1'000s;
    for (const std::uint32_t site : {0U, 1U, 2U})
      cluster.command(site, Command::time(kShown - 1ms, kShown + 1ms));
    cluster.set_delivery([](const Cluster::Datagram&) { return false; });
    cluster.acquire(0, 1);
    const Message ask = cluster.sent().back();
    // The latest possible network time plus KEEP(L); the reading is new.
    EXPECT_EQ(ask.over_at, trusts ? kShown + 1ms + 1ns + rules.keep(rules.lease) : 0ns);
    cluster.crash(0);
    cluster.pass(rules.lease / 2);
    cluster.command(1,
                    Command::time(kShown + rules.lease / 2 - 1ms, kShown + rules.lease / 2 + 1ms));
    cluster.set_delivery(nullptr);
    cluster.inject(NodeId{0}, 1, ask);
    ASSERT_EQ(cluster.lock(1).grantor().promises().size(), 1U);
    const Nanos kept = cluster.lock(1).grantor().promises()[0].until - cluster.now();
    if (!trusts) {
      EXPECT_EQ(kept, rules.keep(rules.lease));
      continue;
    }
    // By network time the lease is over L (1 + rho) + 1 ms after it was sent, and the grantor's
    // earliest bound is 1 ms behind; drift until then costs at most 2 rho and a few units.
    EXPECT_GE(kept, rules.lease / 2 + 2ms + 400us);
    EXPECT_LE(kept, rules.lease / 2 + 2ms + 400us + rules.lease * 4 / 10'000);
  }
}

TEST(LeaseTime, AReadingIsTrustedForALease) {
  Rules rules = kRules;
  rules.trust_time = true;
  Cluster cluster(3, rules);
  cluster.command(0, Command::time(1'000s, 1'000s));
  cluster.pass(rules.lease);
  cluster.acquire(0, 1);
  EXPECT_EQ(cluster.sent()[0].over_at, 0ns);
  cluster.command(0, Command::time(1'001s, 1'000s));  // an empty interval
  cluster.acquire(0, 2, Mode::exclusive, LockId{1});
  EXPECT_EQ(cluster.sent().back().over_at, 0ns);
}

// --- section 8 ---

TEST(LeaseRestart, AbstainsAndCountsOn) {
  Cluster cluster(3, kRules);
  cluster.acquire(0, 1);
  cluster.release(0, 1);
  for (const std::uint32_t site : {0U, 1U, 2U}) cluster.crash(site);
  for (const std::uint32_t site : {0U, 1U, 2U}) cluster.restart(site);
  const BootTime restarted = cluster.now();
  cluster.acquire(2, 7);
  cluster.pass(kRules.keep(kRules.longest) - 1ns);
  EXPECT_FALSE(cluster.granted(2, 7));
  cluster.pass(kRules.lease);
  ASSERT_TRUE(cluster.granted(2, 7));
  EXPECT_EQ(cluster.granted(2, 7)->token, token(kRules.block + 1, 1));
  EXPECT_GE(cluster.granted(2, 7)->deadline,
            restarted + kRules.keep(kRules.longest) + kRules.hold());
}

TEST(LeaseRestart, WritesOnceInABlockAndAheadOfNeed) {
  Rules rules = kRules;
  rules.block = 64;
  Cluster cluster(3, rules);
  EXPECT_EQ(cluster.writes(), 3U);
  for (std::uint32_t i = 0; i < 320; ++i) {
    cluster.acquire(0, i, i % 2 == 0 ? Mode::exclusive : Mode::shared);
    ASSERT_TRUE(cluster.granted(0, i));
    cluster.release(0, i);
    cluster.pass(rules.lease);
  }
  // 320 ballots: one write for each half block, before the previous block is used up.
  EXPECT_GE(cluster.writes(), 3 + 3 * 320 / 64);
  EXPECT_LE(cluster.writes(), 3 + 3 * 320 / 32);
}

TEST(LeaseRestart, SendsNothingBeforeItIsWritten) {
  Rules rules = kRules;
  rules.block = 4;
  Cluster cluster(3, rules);
  cluster.hold_writes(true);
  std::uint32_t granted = 0;
  for (std::uint32_t i = 0; i < 10; ++i) {
    cluster.acquire(0, i);
    granted += cluster.granted(0, i) ? 1U : 0U;
    cluster.release(0, i);
    cluster.pass(rules.lease);
  }
  EXPECT_EQ(granted, 4U);  // as far as the first block reaches
  cluster.acquire(0, 10);
  cluster.hold_writes(false);
  cluster.finish_writes();
  EXPECT_TRUE(cluster.granted(0, 10));
}

TEST(LeaseRestart, BlankMemberTakesTheLargestReserveOfTheOthers) {
  Cluster cluster(3, kRules);
  cluster.crash(1);
  cluster.lose_disk(1);
  cluster.set_delivery(
      [](const Cluster::Datagram& datagram) { return datagram.from != NodeId{2}; });
  cluster.restart(1);
  cluster.pass(2 * kRules.lease);
  EXPECT_TRUE(cluster.member(1).blank());  // one of two is no majority
  cluster.set_delivery(nullptr);
  cluster.pass(kRules.lease);
  EXPECT_FALSE(cluster.member(1).blank());
  EXPECT_EQ(cluster.member(1).state().floor, kRules.block);
  EXPECT_GT(cluster.member(1).state().boot, Boot{1});
  EXPECT_EQ(cluster.disk(1)->reserve, 2 * kRules.block);
}

// Two of three voters lost their records, and each took the other for one that had never voted:
// tokens began again below those of the third (tempo-lab sim daemon --scenario records, seed 7).
TEST(LeaseRestart, AMemberThatLostItsRecordCountsAsNotHeard) {
  Cluster cluster(3, kRules);
  for (const std::uint32_t site : {0U, 1U}) cluster.crash(site);
  for (const std::uint32_t site : {0U, 1U}) cluster.damage_disk(site);
  for (const std::uint32_t site : {0U, 1U}) cluster.restart(site);
  cluster.pass(10 * kRules.lease);
  EXPECT_TRUE(cluster.member(0).blank());
  EXPECT_TRUE(cluster.member(1).blank());
  // One lost record: the two others were a quorum without it.
  Cluster other(3, kRules);
  other.crash(0);
  other.damage_disk(0);
  other.restart(0);
  other.pass(10 * kRules.lease);
  EXPECT_FALSE(other.member(0).blank());
}

// If each of two voters is a quorum, a blank one counts on from the other's reserve.
TEST(LeaseRestart, AvailableMemberWithoutARecordHearsTheOther) {
  Cluster cluster(2, kRules, two_members(TwoNode::available));
  cluster.crash(1);
  cluster.lose_disk(1);
  cluster.restart(1);
  cluster.pass(2 * kRules.lease);
  EXPECT_FALSE(cluster.member(1).blank());
  EXPECT_GE(cluster.member(1).state().floor, cluster.disk(0)->reserve);
}

// A preferred member is a quorum by itself: no other member knows what it accepted.
TEST(LeaseRestart, PreferredMemberWithoutARecordStaysBlank) {
  Cluster cluster(2, kRules, two_members(TwoNode::preferred));
  cluster.crash(0);
  cluster.lose_disk(0);
  cluster.restart(0);
  cluster.pass(10 * kRules.lease);
  EXPECT_TRUE(cluster.member(0).blank());
}

}  // namespace
}  // namespace tempo::lock::lease
