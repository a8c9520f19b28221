// The lease lock, sections 8 and 11 of its specification: what a member that restarts may believe,
// and what it may believe of the time.
#include <gtest/gtest.h>

#include "protocol/lock/lease/lease_member.h"
#include "protocol/lock/lease/lease_test_stage.h"

namespace tempo::lock::lease {
namespace {

// --- section 11 ---

// An ASK that was under way for half a lease binds its grantor for half a lease: network time tells
// how old it is.
TEST(LeaseTime, EndsThePromiseOfALateAsk) {
  Rules rules = kRules;
  for (const bool trusts : {true, false}) {
    rules.trust_time = trusts;
    Stage stage(3, rules);
    constexpr Nanos kShown = 1'000s;
    for (const std::uint32_t site : {0U, 1U, 2U})
      stage.command(site, Command::time(kShown - 1ms, kShown + 1ms));
    stage.set_carrier([](const Stage::Letter&) { return false; });
    stage.acquire(0, 1);
    const Message ask = stage.sent().back();
    // The latest that it can be, and KEEP(L); the reading was new.
    EXPECT_EQ(ask.over_at, trusts ? kShown + 1ms + 1ns + rules.keep(rules.lease) : 0ns);
    stage.crash(0);
    stage.pass(rules.lease / 2);
    stage.command(1, Command::time(kShown + rules.lease / 2 - 1ms, kShown + rules.lease / 2 + 1ms));
    stage.set_carrier(nullptr);
    stage.inject(NodeId{0}, 1, ask);
    ASSERT_EQ(stage.lock(1).grantor().promises().size(), 1U);
    const Nanos kept = stage.lock(1).grantor().promises()[0].until - stage.now();
    if (!trusts) {
      EXPECT_EQ(kept, rules.keep(rules.lease));
      continue;
    }
    // By network time it is over L (1 + rho) + 1 ms after the sending, and the grantor's earliest
    // is 1 ms behind; drift on the way to there costs at most 2 rho and a few units.
    EXPECT_GE(kept, rules.lease / 2 + 2ms + 400us);
    EXPECT_LE(kept, rules.lease / 2 + 2ms + 400us + rules.lease * 4 / 10'000);
  }
}

TEST(LeaseTime, IsNotTrustedForLongerThanALease) {
  Rules rules = kRules;
  rules.trust_time = true;
  Stage stage(3, rules);
  stage.command(0, Command::time(1'000s, 1'000s));
  stage.pass(rules.lease);
  stage.acquire(0, 1);
  EXPECT_EQ(stage.sent()[0].over_at, 0ns);
  stage.command(0, Command::time(1'001s, 1'000s));  // there is no such time
  stage.acquire(0, 2, Mode::exclusive, LockId{1});
  EXPECT_EQ(stage.sent().back().over_at, 0ns);
}

// --- section 8 ---

TEST(LeaseRestart, AbstainsAndCountsOn) {
  Stage stage(3, kRules);
  stage.acquire(0, 1);
  stage.release(0, 1);
  for (const std::uint32_t site : {0U, 1U, 2U}) stage.crash(site);
  for (const std::uint32_t site : {0U, 1U, 2U}) stage.restart(site);
  const Instant restarted = stage.now();
  stage.acquire(2, 7);
  stage.pass(kRules.keep(kRules.longest) - 1ns);
  EXPECT_FALSE(stage.granted(2, 7));
  stage.pass(kRules.lease);
  ASSERT_TRUE(stage.granted(2, 7));
  EXPECT_EQ(stage.granted(2, 7)->token, token(kRules.block + 1, 1));
  EXPECT_GE(stage.granted(2, 7)->deadline, restarted + kRules.keep(kRules.longest) + kRules.hold());
}

TEST(LeaseRestart, WritesOnceInABlockAndAheadOfNeed) {
  Rules rules = kRules;
  rules.block = 64;
  Stage stage(3, rules);
  EXPECT_EQ(stage.writes(), 3U);
  for (std::uint32_t i = 0; i < 320; ++i) {
    stage.acquire(0, i, i % 2 == 0 ? Mode::exclusive : Mode::shared);
    ASSERT_TRUE(stage.granted(0, i));
    stage.release(0, i);
    stage.pass(rules.lease);
  }
  // 320 ballots: every half block before the end of the last one.
  EXPECT_GE(stage.writes(), 3 + 3 * 320 / 64);
  EXPECT_LE(stage.writes(), 3 + 3 * 320 / 32);
}

TEST(LeaseRestart, NothingIsSaidBeforeItIsWritten) {
  Rules rules = kRules;
  rules.block = 4;
  Stage stage(3, rules);
  stage.hold_writes(true);
  std::uint32_t granted = 0;
  for (std::uint32_t i = 0; i < 10; ++i) {
    stage.acquire(0, i);
    granted += stage.granted(0, i) ? 1U : 0U;
    stage.release(0, i);
    stage.pass(rules.lease);
  }
  EXPECT_EQ(granted, 4U);  // as far as the first block goes
  stage.acquire(0, 10);
  stage.hold_writes(false);
  stage.finish_writes();
  EXPECT_TRUE(stage.granted(0, 10));
}

TEST(LeaseRestart, BlankMemberTakesTheLargestReserveOfTheOthers) {
  Stage stage(3, kRules);
  stage.crash(1);
  stage.lose_disk(1);
  stage.set_carrier([](const Stage::Letter& letter) { return letter.from != NodeId{2}; });
  stage.restart(1);
  stage.pass(2 * kRules.lease);
  EXPECT_TRUE(stage.member(1).blank());  // one of two is no majority
  stage.set_carrier(nullptr);
  stage.pass(kRules.lease);
  EXPECT_FALSE(stage.member(1).blank());
  EXPECT_EQ(stage.member(1).state().floor, kRules.block);
  EXPECT_GT(stage.member(1).state().boot, Boot{1});
  EXPECT_EQ(stage.disk(1)->reserve, 2 * kRules.block);
}

// A preferred member is a quorum by itself: nobody else knows what it accepted.
// Where each of two is a quorum, a blank one counts on from what the other says.
TEST(LeaseRestart, AvailableMemberWithoutARecordHearsTheOther) {
  Stage stage(2, kRules, two_members(TwoNode::available));
  stage.crash(1);
  stage.lose_disk(1);
  stage.restart(1);
  stage.pass(2 * kRules.lease);
  EXPECT_FALSE(stage.member(1).blank());
  EXPECT_GE(stage.member(1).state().floor, stage.disk(0)->reserve);
}

TEST(LeaseRestart, PreferredMemberWithoutARecordStaysBlank) {
  Stage stage(2, kRules, two_members(TwoNode::preferred));
  stage.crash(0);
  stage.lose_disk(0);
  stage.restart(0);
  stage.pass(10 * kRules.lease);
  EXPECT_TRUE(stage.member(0).blank());
}

}  // namespace
}  // namespace tempo::lock::lease
