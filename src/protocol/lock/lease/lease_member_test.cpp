// The lease lock, section by section of its specification.
#include "protocol/lock/lease/lease_member.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "machine/field_mutator.h"
#include "protocol/lock/lease/lease_test_stage.h"

namespace tempo::lock::lease {
namespace {

// --- section 2 ---

TEST(LeaseRules, HolderEndsBeforeGrantors) {
  EXPECT_EQ(kRules.hold(), 2s - 400us - 1ns);
  EXPECT_EQ(kRules.keep(2s), 2s + 400us + 1ns);
  // 1 s (1 - rho) / (1 + rho) = 0.9996000799840032 s
  EXPECT_EQ(kRules.shrink(1s), Nanos{999'600'079} - 1ns);
}

TEST(LeaseRules, RoundsAwayFromTrouble) {
  const Rules odd{.lease = Nanos{3}, .longest = Nanos{3}};
  EXPECT_EQ(odd.hold(), Nanos{1});
  EXPECT_EQ(odd.keep(Nanos{3}), Nanos{5});
  EXPECT_EQ(odd.shrink(Nanos{3}), Nanos{1});
}

TEST(LeaseView, QuorumIsMoreThanHalf) {
  const View three = one_vote_each(3);
  EXPECT_FALSE(three.quorum(0b001));
  EXPECT_TRUE(three.quorum(0b101));
  EXPECT_FALSE(three.quorum(0b11000));  // of nobody
  const View four = one_vote_each(4);
  EXPECT_FALSE(four.quorum(0b0011));
  EXPECT_TRUE(four.quorum(0b0111));
}

TEST(LeaseView, PoliciesOfTwo) {
  EXPECT_FALSE(two_members(TwoNode::strict).quorum(0b01));
  EXPECT_TRUE(two_members(TwoNode::strict).quorum(0b11));
  EXPECT_TRUE(two_members(TwoNode::witness).quorum(0b101));
  EXPECT_TRUE(two_members(TwoNode::preferred).quorum(0b01));
  EXPECT_FALSE(two_members(TwoNode::preferred).quorum(0b10));
  EXPECT_TRUE(two_members(TwoNode::available).quorum(0b10));
}

// --- section 10: what each operation says ---

TEST(LeaseMessages, AcquireFreeLock) {
  for (const std::uint32_t sites : {3U, 5U}) {
    Stage stage(sites, kRules);
    stage.acquire(0, 1);
    ASSERT_TRUE(stage.granted(0, 1));
    EXPECT_EQ(stage.granted(0, 1)->token, token(1, 1));
    EXPECT_EQ(stage.granted(0, 1)->deadline, stage.now() + kRules.hold());
    EXPECT_EQ(stage.said(Kind::ask), 1U);
    EXPECT_EQ(stage.said(Kind::grant), sites - 1);
    EXPECT_EQ(stage.said_in_all(), sites);
  }
}

TEST(LeaseMessages, AcquireFreeLockThrifty) {
  Rules rules = kRules;
  rules.suppress_replies = true;
  for (const std::uint32_t sites : {3U, 5U}) {
    Stage stage(sites, rules);
    stage.acquire(0, 1);  // nobody has answered yet: all are named
    EXPECT_EQ(stage.said(Kind::grant), sites - 1);
    stage.release(0, 1);
    stage.pass(rules.lease);
    stage.forget_said();
    stage.acquire(0, 2);
    EXPECT_TRUE(stage.granted(0, 2));
    EXPECT_EQ(stage.said(Kind::ask), 1U);
    EXPECT_EQ(stage.said(Kind::grant), sites / 2);
    EXPECT_EQ(stage.said_in_all(), 1 + sites / 2);
  }
}

// One that missed how far counts have gone learns it once, not with every lock.
TEST(LeaseMessages, WhoWasRefusedAsLowIsNotSoAgain) {
  Stage stage(3, kRules);
  stage.crash(0);
  stage.acquire(1, 1);
  stage.release(1, 1);
  stage.pass(2 * kRules.lease);  // it is forgotten: the count is the floor
  stage.resume(0);
  stage.forget_said();
  stage.acquire(0, 1, Mode::exclusive, LockId{5});
  EXPECT_EQ(stage.said(Kind::refuse), 2U);
  EXPECT_EQ(stage.said(Kind::ask), 2U);
  stage.forget_said();
  stage.acquire(0, 2, Mode::exclusive, LockId{6});
  EXPECT_TRUE(stage.granted(0, 2));
  EXPECT_EQ(stage.said(Kind::refuse), 0U);
  EXPECT_EQ(stage.said(Kind::ask), 1U);
}

TEST(LeaseMessages, AcquireAgainSaysNothing) {
  Stage stage(3, kRules);
  stage.acquire(0, 1);
  stage.release(0, 1);
  stage.forget_said();
  stage.acquire(0, 2);
  EXPECT_EQ(stage.granted(0, 2)->token, token(1, 2));
  EXPECT_EQ(stage.said_in_all(), 0U);
}

TEST(LeaseMessages, AcquireWhereAnotherIsIdle) {
  for (const std::uint32_t sites : {3U, 5U}) {
    Stage stage(sites, kRules);
    stage.acquire(0, 1);
    stage.release(0, 1);
    stage.forget_said();
    stage.acquire(1, 1);
    EXPECT_EQ(stage.granted(1, 1)->token, token(1, 3));  // the hand-over counts
    EXPECT_EQ(stage.said(Kind::ask), 1U);
    EXPECT_EQ(stage.said(Kind::pass), 1U);
    EXPECT_EQ(stage.said(Kind::refuse), sites - 1);
    EXPECT_EQ(stage.said_in_all(), sites + 1);
  }
}

TEST(LeaseMessages, RenewEveryHalfLease) {
  Stage stage(3, kRules);
  stage.acquire(0, 1);
  stage.forget_said();
  stage.pass(10 * kRules.lease);
  EXPECT_FALSE(stage.lost(0, 1));
  EXPECT_EQ(stage.said(Kind::ask), 20U);
  EXPECT_EQ(stage.said(Kind::grant), 40U);
  EXPECT_EQ(stage.said_in_all(), 60U);
}

TEST(LeaseMessages, ReleaseSaysNothingUntilTheIdleLeaseEnds) {
  Stage stage(3, kRules);
  stage.acquire(0, 1);
  stage.forget_said();
  stage.release(0, 1);
  EXPECT_EQ(stage.said_in_all(), 0U);
  stage.pass(kRules.lease);
  EXPECT_EQ(stage.said(Kind::free), 1U);
  EXPECT_EQ(stage.said_in_all(), 1U);
}

TEST(LeaseMessages, HandOverToWaiter) {
  Stage stage(3, kRules);
  stage.acquire(0, 1);
  stage.acquire(1, 1);
  stage.acquire(0, 2);
  stage.forget_said();
  stage.release(0, 1);  // to another daemon
  EXPECT_TRUE(stage.granted(1, 1));
  EXPECT_EQ(stage.said(Kind::pass), 1U);
  EXPECT_EQ(stage.said_in_all(), 1U);
  stage.release(1, 1);  // the PASS had said that site 0 waits
  EXPECT_TRUE(stage.granted(0, 2));
  EXPECT_EQ(stage.said(Kind::pass), 2U);
  EXPECT_EQ(stage.said_in_all(), 2U);
  stage.acquire(0, 3);
  stage.forget_said();
  stage.release(0, 2);  // to the same daemon
  EXPECT_TRUE(stage.granted(0, 3));
  EXPECT_EQ(stage.said_in_all(), 0U);
}

// Everybody wants the lock all the time: a grant is one ASK, refused by all that promised it to
// another, and one PASS.
TEST(LeaseMessages, ContendedPerGrant) {
  for (const std::uint32_t sites : {3U, 5U}) {
    Stage stage(sites, kRules);
    for (std::uint32_t site = 0; site < sites; ++site) stage.acquire(site, 1);
    stage.forget_said();
    constexpr std::uint32_t kGrants = 60;
    for (std::uint32_t i = 0; i < kGrants; ++i) {
      const std::uint32_t site = i % sites;
      const std::uint32_t client = i / sites + 1;
      stage.release(site, client);
      ASSERT_TRUE(stage.granted((site + 1) % sites, (i + 1) / sites + 1)) << i;
      stage.acquire(site, client + 1);
    }
    EXPECT_EQ(stage.said(Kind::ask), kGrants);
    EXPECT_EQ(stage.said(Kind::pass), kGrants);
    EXPECT_EQ(stage.said(Kind::refuse), kGrants * (sites - 1));
    EXPECT_EQ(stage.said_in_all(), kGrants * (sites + 1));
  }
}

TEST(LeaseMessages, LastReaderLeavesWriterEnters) {
  for (const std::uint32_t sites : {3U, 5U}) {
    Stage stage(sites, kRules);
    stage.acquire(0, 1, Mode::exclusive);
    stage.acquire(0, 2, Mode::shared);
    stage.acquire(2, 1, Mode::shared);
    stage.release(0, 1);  // the readers enter; the lease is shared from now on
    ASSERT_TRUE(stage.granted(0, 2));
    stage.pass(kRules.lease);
    ASSERT_TRUE(stage.granted(2, 1));
    stage.acquire(1, 1, Mode::exclusive);
    stage.release(0, 2);
    EXPECT_FALSE(stage.granted(1, 1));
    stage.forget_said();
    stage.release(2, 1);
    EXPECT_TRUE(stage.granted(1, 1));
    EXPECT_EQ(stage.said(Kind::free), 1U);
    EXPECT_EQ(stage.said(Kind::grant), sites - 1);
    EXPECT_EQ(stage.said_in_all(), sites);
  }
}

// --- sections 5 and 6 ---

TEST(Lease, ServesInTheOrderOfTickets) {
  Stage stage(3, kRules);
  stage.acquire(0, 1);
  stage.acquire(1, 1);
  stage.acquire(2, 1);
  stage.acquire(1, 2);
  std::vector<NodeId> order;
  for (const std::uint32_t site : {0U, 1U, 2U, 1U}) {
    stage.release(site, order.size() == 3 ? 2 : 1);
    order.push_back(NodeId{site});
  }
  std::vector<NodeId> granted;
  for (const Stage::Event& event : stage.events())
    if (event.notice.kind == Notice::Kind::granted) granted.push_back(event.site);
  EXPECT_EQ(granted, (std::vector{NodeId{0}, NodeId{1}, NodeId{2}, NodeId{1}}));
}

TEST(Lease, ReadersAreInsideTogetherAndAWriterStopsLaterOnes) {
  Stage stage(3, kRules);
  stage.acquire(0, 1, Mode::shared);
  stage.acquire(1, 1, Mode::shared);
  ASSERT_TRUE(stage.granted(1, 1));
  stage.acquire(2, 1, Mode::exclusive);
  stage.acquire(1, 2, Mode::shared);
  stage.acquire(0, 2, Mode::shared);
  EXPECT_FALSE(stage.granted(1, 2));
  EXPECT_FALSE(stage.granted(0, 2));
  stage.release(0, 1);
  stage.release(1, 1);
  ASSERT_TRUE(stage.granted(2, 1));
  stage.release(2, 1);
  stage.pass(kRules.lease);
  EXPECT_TRUE(stage.granted(0, 2));
  EXPECT_TRUE(stage.granted(1, 2));
  EXPECT_GT(stage.granted(0, 2)->token, stage.granted(2, 1)->token);
  EXPECT_GT(stage.granted(1, 2)->token, stage.granted(2, 1)->token);
}

TEST(Lease, ClientIsToldThatItLostTheLock) {
  Stage stage(3, kRules);
  stage.acquire(0, 1);
  const Instant deadline = stage.granted(0, 1)->deadline;
  stage.set_carrier([](const Stage::Letter&) { return false; });
  stage.pass(deadline - stage.now() - 1ns);
  EXPECT_FALSE(stage.lost(0, 1));
  stage.pass(2ns);
  EXPECT_TRUE(stage.lost(0, 1));
}

TEST(Lease, AfterACrashTheNextWaitsForTheLeaseToEnd) {
  Stage stage(3, kRules);
  stage.acquire(0, 1);
  const Instant asked = stage.now();
  stage.crash(0);
  stage.acquire(1, 1);
  stage.pass(kRules.lease);
  EXPECT_FALSE(stage.granted(1, 1));
  stage.pass(kRules.lease);
  ASSERT_TRUE(stage.granted(1, 1));
  EXPECT_GT(stage.granted(1, 1)->token, stage.granted(0, 1)->token);
  // L (1 + 2 rho) + retry, which has a random part
  EXPECT_LE(stage.granted(1, 1)->deadline - kRules.hold() - asked,
            kRules.keep(kRules.lease) + kRules.retry() * 5 / 4);
}

TEST(Lease, LostPassIsSaidAgain) {
  Stage stage(3, kRules);
  stage.acquire(0, 1);
  stage.acquire(1, 1);
  stage.set_carrier([](const Stage::Letter& letter) { return letter.message.kind != Kind::pass; });
  stage.release(0, 1);
  EXPECT_FALSE(stage.granted(1, 1));
  stage.set_carrier(nullptr);
  stage.pass(kRules.retry() * 5 / 4);
  EXPECT_TRUE(stage.granted(1, 1));
}

TEST(Lease, EndsTheLeaseWhenItsTokensAreUsedUp) {
  Rules rules = kRules;
  rules.most_sub = 3;
  Stage stage(3, rules);
  for (std::uint32_t i = 0; i < 8; ++i) {
    stage.acquire(0, i);
    ASSERT_TRUE(stage.granted(0, i)) << i;
    EXPECT_EQ(stage.granted(0, i)->token, token(1 + i / 3, 1 + i % 3));
    stage.release(0, i);
  }
}

TEST(Lease, RefusesMoreClientsThanItServes) {
  Stage stage(3, kRules);
  for (std::uint32_t i = 0; i <= kMaxClients; ++i) stage.acquire(0, i);
  EXPECT_EQ(stage.events().back().notice.kind, Notice::Kind::refused);
  EXPECT_EQ(stage.lock(0).clients().size(), kMaxClients);
}

// --- leases of other lengths ---

constexpr Rules kUpTo10s{.longest = 10s};

void want_for(Stage& stage, std::uint32_t site, std::uint32_t client, Nanos length,
              Mode mode = Mode::exclusive) {
  stage.command(site, Command::acquire(LockId{0}, ClientId{client}, mode, 0, length));
}

TEST(LeaseLength, IsWhatTheClientAsksFor) {
  for (const Nanos length : {100ms, 10'000ms}) {
    Stage stage(3, kUpTo10s);
    want_for(stage, 0, 1, length);
    ASSERT_TRUE(stage.granted(0, 1));
    EXPECT_EQ(stage.granted(0, 1)->deadline, stage.now() + kUpTo10s.hold(length));
  }
}

TEST(LeaseLength, IsAtMostTheLongest) {
  Stage stage(3, kUpTo10s);
  want_for(stage, 0, 1, 20s);
  ASSERT_TRUE(stage.granted(0, 1));
  EXPECT_EQ(stage.granted(0, 1)->deadline, stage.now() + kUpTo10s.hold(10s));
}

// Whoever waits for a daemon that died waits for the lease that its client wanted, not for another.
TEST(LeaseLength, IsHowLongOthersWaitForADaemonThatDied) {
  for (const Nanos length : {100ms, 10'000ms}) {
    Stage stage(3, kUpTo10s);
    want_for(stage, 0, 1, length);
    const Instant began = stage.now();
    stage.crash(0);
    stage.acquire(1, 1);
    stage.pass(length - 1ms);
    EXPECT_FALSE(stage.granted(1, 1)) << length.count();
    stage.pass(kUpTo10s.keep(length) - length + 1ms + kUpTo10s.retry() * 5 / 4);
    ASSERT_TRUE(stage.granted(1, 1)) << length.count();
    EXPECT_GE(stage.granted(1, 1)->deadline - kUpTo10s.hold(), began + length);
  }
}

TEST(LeaseLength, IsExtendedInTimeWhateverItIs) {
  for (const Nanos length : {100ms, 10'000ms}) {
    Stage stage(3, kUpTo10s);
    want_for(stage, 0, 1, length);
    stage.forget_said();
    stage.pass(10 * length);
    EXPECT_EQ(stage.lock(0).clients().size(), 1U) << "it was lost";
    EXPECT_LE(stage.said(Kind::ask), 21U) << "twice in each lease";
    EXPECT_LE(stage.lock(0).lease()->until, stage.now() + kUpTo10s.hold(length));
  }
}

TEST(LeaseLength, IsTheLongestOfThoseInside) {
  Stage stage(3, kUpTo10s);
  want_for(stage, 0, 1, 100ms, Mode::shared);
  want_for(stage, 0, 2, 10s, Mode::shared);
  ASSERT_TRUE(stage.granted(0, 2));
  EXPECT_EQ(stage.lock(0).lease()->until, stage.now() + kUpTo10s.hold(10s));
  stage.release(0, 2);
  stage.pass(10s);
  EXPECT_LE(stage.lock(0).lease()->until, stage.now() + kUpTo10s.hold(100ms));
}

// An ordinary lease is kept for whoever comes next; a longer one would make others wait for it.
TEST(LeaseLength, LongOnesAreGivenBackAtOnce) {
  Stage stage(3, kUpTo10s);
  want_for(stage, 0, 1, 10s);
  stage.forget_said();
  stage.release(0, 1);
  EXPECT_EQ(stage.said(Kind::free), 1U);
  EXPECT_FALSE(stage.lock(0).lease());
  stage.acquire(0, 2);
  stage.forget_said();
  stage.release(0, 2);
  EXPECT_EQ(stage.said(Kind::free), 0U);
  EXPECT_TRUE(stage.lock(0).lease());
}

TEST(LeaseLength, LongOnesAreNotHandedOver) {
  Stage stage(3, kUpTo10s);
  want_for(stage, 0, 1, 10s);
  stage.acquire(1, 1);
  stage.forget_said();
  stage.release(0, 1);
  ASSERT_TRUE(stage.granted(1, 1));
  EXPECT_EQ(stage.said(Kind::pass), 0U);
  EXPECT_EQ(stage.granted(1, 1)->deadline, stage.now() + kUpTo10s.hold());
}

TEST(LeaseLength, ChangesWithAHandOver) {
  Stage stage(3, kUpTo10s);
  want_for(stage, 0, 1, 100ms);
  want_for(stage, 1, 1, 10s);
  stage.release(0, 1);
  ASSERT_TRUE(stage.granted(1, 1));
  EXPECT_EQ(stage.lock(1).lease()->until, stage.now() + kUpTo10s.hold(10s)) << "not extended";
}

// --- many locks ---

TEST(LeaseLocks, ShareOneFloorAndForgetWhatIsIdle) {
  Stage stage(3, kRules);
  for (std::uint32_t i = 0; i < 5; ++i) {
    stage.acquire(0, 1, Mode::exclusive, LockId{i});
    EXPECT_EQ(stage.granted(0, 1)->token, token(1 + i, 1));
    stage.release(0, 1, LockId{i});
    stage.pass(2 * kRules.lease);
  }
  EXPECT_EQ(stage.member(1).state().floor, 5U);
  EXPECT_EQ(stage.member(0).timers().first(), kNever);
}

// --- the contract ---

TEST(LeaseMember, HearsNothingInItsOwnName) {
  Stage stage(3, kRules);
  stage.acquire(0, 1, Mode::exclusive);
  Member member = stage.member(0);
  Outbox<Member> out;
  Stream stream(1, 1, 1);
  StreamDraw draw(stream);
  Turn<Member> turn{stage.now(), draw, out};
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    Message message{.kind = static_cast<Kind>(kind), .view = member.state().view().number};
    message.boot = message.to_boot = member.state().boot;
    message.ballot = {.count = 9, .origin = NodeId{0}};
    member.receive(turn, NodeId{0}, message);
  }
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(packed(member, stage.now()), packed(stage.member(0), stage.now()));
}

TEST(LeaseMember, EveryFieldIsInThePackedForm) {
  Stage stage(3, kRules);
  stage.acquire(0, 1, Mode::shared);
  stage.acquire(1, 1, Mode::exclusive);
  stage.acquire(2, 1, Mode::shared);
  for (const std::uint32_t site : {0U, 1U, 2U})
    EXPECT_EQ(unnoticed_writes(stage.member(site), stage.now()), std::vector<std::string>{})
        << site;
}

}  // namespace
}  // namespace tempo::lock::lease
