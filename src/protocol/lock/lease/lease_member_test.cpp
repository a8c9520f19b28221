// The lease lock, section by section of its specification.
#include "protocol/lock/lease/lease_member.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "machine/field_mutator.h"
#include "protocol/lock/lease/lease_test_cluster.h"

namespace tempo::lock::lease {
namespace {

// --- section 2 ---

TEST(LeaseRules, HolderEndsBeforeGrantors) {
  EXPECT_EQ(kRules.hold(), 2s - 400us - 1ns);
  EXPECT_EQ(kRules.keep(2s), 2s + 400us + 1ns);
  // 1 s (1 - rho) / (1 + rho) = 0.9996000799840032 s
  EXPECT_EQ(kRules.shrink(1s), Nanos{999'600'079} - 1ns);
}

TEST(LeaseRules, RoundsToTheSafeSide) {
  const Rules odd{.lease = Nanos{3}, .longest = Nanos{3}};
  EXPECT_EQ(odd.hold(), Nanos{1});
  EXPECT_EQ(odd.keep(Nanos{3}), Nanos{5});
  EXPECT_EQ(odd.shrink(Nanos{3}), Nanos{1});
}

TEST(LeaseView, QuorumIsMoreThanHalf) {
  const View three = one_vote_each(3);
  EXPECT_FALSE(three.quorum(0b001));
  EXPECT_TRUE(three.quorum(0b101));
  EXPECT_FALSE(three.quorum(0b11000));  // empty slots
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

// --- section 10: messages of each operation ---

TEST(LeaseMessages, AcquireFreeLock) {
  for (const std::uint32_t sites : {3U, 5U}) {
    Cluster cluster(sites, kRules);
    cluster.acquire(0, 1);
    ASSERT_TRUE(cluster.granted(0, 1));
    EXPECT_EQ(cluster.granted(0, 1)->token, token(1, 1));
    EXPECT_EQ(cluster.granted(0, 1)->deadline, cluster.now() + kRules.hold());
    EXPECT_EQ(cluster.sent_count(Kind::ask), 1U);
    EXPECT_EQ(cluster.sent_count(Kind::grant), sites - 1);
    EXPECT_EQ(cluster.total_sent(), sites);
  }
}

TEST(LeaseMessages, AcquireFreeLockWithSuppressedReplies) {
  Rules rules = kRules;
  rules.suppress_replies = true;
  for (const std::uint32_t sites : {3U, 5U}) {
    Cluster cluster(sites, rules);
    cluster.acquire(0, 1);  // no voter has answered yet: all are named
    EXPECT_EQ(cluster.sent_count(Kind::grant), sites - 1);
    cluster.release(0, 1);
    cluster.pass(rules.lease);
    cluster.clear_counts();
    cluster.acquire(0, 2);
    EXPECT_TRUE(cluster.granted(0, 2));
    EXPECT_EQ(cluster.sent_count(Kind::ask), 1U);
    EXPECT_EQ(cluster.sent_count(Kind::grant), sites / 2);
    EXPECT_EQ(cluster.total_sent(), 1 + sites / 2);
  }
}

// A member that missed how far counts have gone learns it once, not with every lock.
TEST(LeaseMessages, LowCountIsRefusedOnlyOnce) {
  Cluster cluster(3, kRules);
  cluster.crash(0);
  cluster.acquire(1, 1);
  cluster.release(1, 1);
  cluster.pass(2 * kRules.lease);  // the lock is forgotten: its count is the floor
  cluster.resume(0);
  cluster.clear_counts();
  cluster.acquire(0, 1, Mode::exclusive, LockId{5});
  EXPECT_EQ(cluster.sent_count(Kind::refuse), 2U);
  EXPECT_EQ(cluster.sent_count(Kind::ask), 2U);
  cluster.clear_counts();
  cluster.acquire(0, 2, Mode::exclusive, LockId{6});
  EXPECT_TRUE(cluster.granted(0, 2));
  EXPECT_EQ(cluster.sent_count(Kind::refuse), 0U);
  EXPECT_EQ(cluster.sent_count(Kind::ask), 1U);
}

TEST(LeaseMessages, AcquireAgainSendsNothing) {
  Cluster cluster(3, kRules);
  cluster.acquire(0, 1);
  cluster.release(0, 1);
  cluster.clear_counts();
  cluster.acquire(0, 2);
  EXPECT_EQ(cluster.granted(0, 2)->token, token(1, 2));
  EXPECT_EQ(cluster.total_sent(), 0U);
}

TEST(LeaseMessages, AcquireWhereAnotherIsIdle) {
  for (const std::uint32_t sites : {3U, 5U}) {
    Cluster cluster(sites, kRules);
    cluster.acquire(0, 1);
    cluster.release(0, 1);
    cluster.clear_counts();
    cluster.acquire(1, 1);
    EXPECT_EQ(cluster.granted(1, 1)->token, token(1, 3));  // the hand-over counts as a grant
    EXPECT_EQ(cluster.sent_count(Kind::ask), 1U);
    EXPECT_EQ(cluster.sent_count(Kind::pass), 1U);
    EXPECT_EQ(cluster.sent_count(Kind::refuse), sites - 1);
    EXPECT_EQ(cluster.total_sent(), sites + 1);
  }
}

TEST(LeaseMessages, RenewEveryHalfLease) {
  Cluster cluster(3, kRules);
  cluster.acquire(0, 1);
  cluster.clear_counts();
  cluster.pass(10 * kRules.lease);
  EXPECT_FALSE(cluster.lost(0, 1));
  EXPECT_EQ(cluster.sent_count(Kind::ask), 20U);
  EXPECT_EQ(cluster.sent_count(Kind::grant), 40U);
  EXPECT_EQ(cluster.total_sent(), 60U);
}

TEST(LeaseMessages, ReleaseSendsNothingUntilTheIdleLeaseEnds) {
  Cluster cluster(3, kRules);
  cluster.acquire(0, 1);
  cluster.clear_counts();
  cluster.release(0, 1);
  EXPECT_EQ(cluster.total_sent(), 0U);
  cluster.pass(kRules.lease);
  EXPECT_EQ(cluster.sent_count(Kind::free), 1U);
  EXPECT_EQ(cluster.total_sent(), 1U);
}

TEST(LeaseMessages, HandOverToWaiter) {
  Cluster cluster(3, kRules);
  cluster.acquire(0, 1);
  cluster.acquire(1, 1);
  cluster.acquire(0, 2);
  cluster.clear_counts();
  cluster.release(0, 1);  // to another daemon
  EXPECT_TRUE(cluster.granted(1, 1));
  EXPECT_EQ(cluster.sent_count(Kind::pass), 1U);
  EXPECT_EQ(cluster.total_sent(), 1U);
  cluster.release(1, 1);  // the PASS had announced that site 0 waits
  EXPECT_TRUE(cluster.granted(0, 2));
  EXPECT_EQ(cluster.sent_count(Kind::pass), 2U);
  EXPECT_EQ(cluster.total_sent(), 2U);
  cluster.acquire(0, 3);
  cluster.clear_counts();
  cluster.release(0, 2);  // to the same daemon
  EXPECT_TRUE(cluster.granted(0, 3));
  EXPECT_EQ(cluster.total_sent(), 0U);
}

// All members want the lock all the time: a grant takes one ASK, refused by all that promised the
// lock to another, and one PASS.
TEST(LeaseMessages, ContendedPerGrant) {
  for (const std::uint32_t sites : {3U, 5U}) {
    Cluster cluster(sites, kRules);
    for (std::uint32_t site = 0; site < sites; ++site) cluster.acquire(site, 1);
    cluster.clear_counts();
    constexpr std::uint32_t kGrants = 60;
    for (std::uint32_t i = 0; i < kGrants; ++i) {
      const std::uint32_t site = i % sites;
      const std::uint32_t client = i / sites + 1;
      cluster.release(site, client);
      ASSERT_TRUE(cluster.granted((site + 1) % sites, (i + 1) / sites + 1)) << i;
      cluster.acquire(site, client + 1);
    }
    EXPECT_EQ(cluster.sent_count(Kind::ask), kGrants);
    EXPECT_EQ(cluster.sent_count(Kind::pass), kGrants);
    EXPECT_EQ(cluster.sent_count(Kind::refuse), kGrants * (sites - 1));
    EXPECT_EQ(cluster.total_sent(), kGrants * (sites + 1));
  }
}

TEST(LeaseMessages, LastReaderLeavesWriterEnters) {
  for (const std::uint32_t sites : {3U, 5U}) {
    Cluster cluster(sites, kRules);
    cluster.acquire(0, 1, Mode::exclusive);
    cluster.acquire(0, 2, Mode::shared);
    cluster.acquire(2, 1, Mode::shared);
    cluster.release(0, 1);  // the readers enter; the lease is shared from now on
    ASSERT_TRUE(cluster.granted(0, 2));
    cluster.pass(kRules.lease);
    ASSERT_TRUE(cluster.granted(2, 1));
    cluster.acquire(1, 1, Mode::exclusive);
    cluster.release(0, 2);
    EXPECT_FALSE(cluster.granted(1, 1));
    cluster.clear_counts();
    cluster.release(2, 1);
    EXPECT_TRUE(cluster.granted(1, 1));
    EXPECT_EQ(cluster.sent_count(Kind::free), 1U);
    EXPECT_EQ(cluster.sent_count(Kind::grant), sites - 1);
    EXPECT_EQ(cluster.total_sent(), sites);
  }
}

// --- sections 5 and 6 ---

TEST(Lease, ServesInTheOrderOfTickets) {
  Cluster cluster(3, kRules);
  cluster.acquire(0, 1);
  cluster.acquire(1, 1);
  cluster.acquire(2, 1);
  cluster.acquire(1, 2);
  std::vector<NodeId> order;
  for (const std::uint32_t site : {0U, 1U, 2U, 1U}) {
    cluster.release(site, order.size() == 3 ? 2 : 1);
    order.push_back(NodeId{site});
  }
  std::vector<NodeId> granted;
  for (const Cluster::Event& event : cluster.events())
    if (event.notice.kind == Notice::Kind::granted) granted.push_back(event.site);
  EXPECT_EQ(granted, (std::vector{NodeId{0}, NodeId{1}, NodeId{2}, NodeId{1}}));
}

TEST(Lease, ReadersAreInsideTogetherAndAWriterStopsLaterOnes) {
  Cluster cluster(3, kRules);
  cluster.acquire(0, 1, Mode::shared);
  cluster.acquire(1, 1, Mode::shared);
  ASSERT_TRUE(cluster.granted(1, 1));
  cluster.acquire(2, 1, Mode::exclusive);
  cluster.acquire(1, 2, Mode::shared);
  cluster.acquire(0, 2, Mode::shared);
  EXPECT_FALSE(cluster.granted(1, 2));
  EXPECT_FALSE(cluster.granted(0, 2));
  cluster.release(0, 1);
  cluster.release(1, 1);
  ASSERT_TRUE(cluster.granted(2, 1));
  cluster.release(2, 1);
  cluster.pass(kRules.lease);
  EXPECT_TRUE(cluster.granted(0, 2));
  EXPECT_TRUE(cluster.granted(1, 2));
  EXPECT_GT(cluster.granted(0, 2)->token, cluster.granted(2, 1)->token);
  EXPECT_GT(cluster.granted(1, 2)->token, cluster.granted(2, 1)->token);
}

TEST(Lease, NotifiesAClientThatLostTheLock) {
  Cluster cluster(3, kRules);
  cluster.acquire(0, 1);
  const BootTime deadline = cluster.granted(0, 1)->deadline;
  cluster.set_delivery([](const Cluster::Datagram&) { return false; });
  cluster.pass(deadline - cluster.now() - 1ns);
  EXPECT_FALSE(cluster.lost(0, 1));
  cluster.pass(2ns);
  EXPECT_TRUE(cluster.lost(0, 1));
}

TEST(Lease, AfterACrashTheNextWaitsForTheLeaseToEnd) {
  Cluster cluster(3, kRules);
  cluster.acquire(0, 1);
  const BootTime asked = cluster.now();
  cluster.crash(0);
  cluster.acquire(1, 1);
  cluster.pass(kRules.lease);
  EXPECT_FALSE(cluster.granted(1, 1));
  cluster.pass(kRules.lease);
  ASSERT_TRUE(cluster.granted(1, 1));
  EXPECT_GT(cluster.granted(1, 1)->token, cluster.granted(0, 1)->token);
  // L (1 + 2 rho) + retry, which has a random part
  EXPECT_LE(cluster.granted(1, 1)->deadline - kRules.hold() - asked,
            kRules.keep(kRules.lease) + kRules.retry() * 5 / 4);
}

TEST(Lease, RepeatsALostPass) {
  Cluster cluster(3, kRules);
  cluster.acquire(0, 1);
  cluster.acquire(1, 1);
  cluster.set_delivery(
      [](const Cluster::Datagram& datagram) { return datagram.message.kind != Kind::pass; });
  cluster.release(0, 1);
  EXPECT_FALSE(cluster.granted(1, 1));
  cluster.set_delivery(nullptr);
  cluster.pass(kRules.retry() * 5 / 4);
  EXPECT_TRUE(cluster.granted(1, 1));
}

TEST(Lease, EndsTheLeaseWhenItsTokensAreUsedUp) {
  Rules rules = kRules;
  rules.max_sub = 3;
  Cluster cluster(3, rules);
  for (std::uint32_t i = 0; i < 8; ++i) {
    cluster.acquire(0, i);
    ASSERT_TRUE(cluster.granted(0, i)) << i;
    EXPECT_EQ(cluster.granted(0, i)->token, token(1 + i / 3, 1 + i % 3));
    cluster.release(0, i);
  }
}

TEST(Lease, RefusesMoreClientsThanItServes) {
  Cluster cluster(3, kRules);
  for (std::uint32_t i = 0; i <= kMaxClients; ++i) cluster.acquire(0, i);
  EXPECT_EQ(cluster.events().back().notice.kind, Notice::Kind::refused);
  EXPECT_EQ(cluster.lock(0).clients().size(), kMaxClients);
}

// --- leases of other lengths ---

constexpr Rules kUpTo10s{.longest = 10s};

void want_for(Cluster& cluster, std::uint32_t site, std::uint32_t client, Nanos length,
              Mode mode = Mode::exclusive) {
  cluster.command(site, Command::acquire(LockId{0}, ClientId{client}, mode, 0, length));
}

TEST(LeaseLength, IsWhatTheClientAsksFor) {
  for (const Nanos length : {100ms, 10'000ms}) {
    Cluster cluster(3, kUpTo10s);
    want_for(cluster, 0, 1, length);
    ASSERT_TRUE(cluster.granted(0, 1));
    EXPECT_EQ(cluster.granted(0, 1)->deadline, cluster.now() + kUpTo10s.hold(length));
  }
}

TEST(LeaseLength, IsAtMostTheLongest) {
  Cluster cluster(3, kUpTo10s);
  want_for(cluster, 0, 1, 20s);
  ASSERT_TRUE(cluster.granted(0, 1));
  EXPECT_EQ(cluster.granted(0, 1)->deadline, cluster.now() + kUpTo10s.hold(10s));
}

// If a daemon dies, others wait for the lease that its client wanted, not for another length.
TEST(LeaseLength, LimitsTheWaitForADeadDaemon) {
  for (const Nanos length : {100ms, 10'000ms}) {
    Cluster cluster(3, kUpTo10s);
    want_for(cluster, 0, 1, length);
    const BootTime began = cluster.now();
    cluster.crash(0);
    cluster.acquire(1, 1);
    cluster.pass(length - 1ms);
    EXPECT_FALSE(cluster.granted(1, 1)) << length.count();
    cluster.pass(kUpTo10s.keep(length) - length + 1ms + kUpTo10s.retry() * 5 / 4);
    ASSERT_TRUE(cluster.granted(1, 1)) << length.count();
    EXPECT_GE(cluster.granted(1, 1)->deadline - kUpTo10s.hold(), began + length);
  }
}

TEST(LeaseLength, IsExtendedInTimeWhateverItIs) {
  for (const Nanos length : {100ms, 10'000ms}) {
    Cluster cluster(3, kUpTo10s);
    want_for(cluster, 0, 1, length);
    cluster.clear_counts();
    cluster.pass(10 * length);
    EXPECT_EQ(cluster.lock(0).clients().size(), 1U) << "the client lost the lock";
    EXPECT_LE(cluster.sent_count(Kind::ask), 21U) << "two ASKs for each lease";
    EXPECT_LE(cluster.lock(0).lease()->until, cluster.now() + kUpTo10s.hold(length));
  }
}

TEST(LeaseLength, IsTheLongestOfThoseInside) {
  Cluster cluster(3, kUpTo10s);
  want_for(cluster, 0, 1, 100ms, Mode::shared);
  want_for(cluster, 0, 2, 10s, Mode::shared);
  ASSERT_TRUE(cluster.granted(0, 2));
  EXPECT_EQ(cluster.lock(0).lease()->until, cluster.now() + kUpTo10s.hold(10s));
  cluster.release(0, 2);
  cluster.pass(10s);
  EXPECT_LE(cluster.lock(0).lease()->until, cluster.now() + kUpTo10s.hold(100ms));
}

// An ordinary lease is kept for the next client; a longer one would make other members wait for it.
TEST(LeaseLength, LongOnesAreGivenBackAtOnce) {
  Cluster cluster(3, kUpTo10s);
  want_for(cluster, 0, 1, 10s);
  cluster.clear_counts();
  cluster.release(0, 1);
  EXPECT_EQ(cluster.sent_count(Kind::free), 1U);
  EXPECT_FALSE(cluster.lock(0).lease());
  cluster.acquire(0, 2);
  cluster.clear_counts();
  cluster.release(0, 2);
  EXPECT_EQ(cluster.sent_count(Kind::free), 0U);
  EXPECT_TRUE(cluster.lock(0).lease());
}

TEST(LeaseLength, LongOnesAreNotHandedOver) {
  Cluster cluster(3, kUpTo10s);
  want_for(cluster, 0, 1, 10s);
  cluster.acquire(1, 1);
  cluster.clear_counts();
  cluster.release(0, 1);
  ASSERT_TRUE(cluster.granted(1, 1));
  EXPECT_EQ(cluster.sent_count(Kind::pass), 0U);
  EXPECT_EQ(cluster.granted(1, 1)->deadline, cluster.now() + kUpTo10s.hold());
}

TEST(LeaseLength, ChangesWithAHandOver) {
  Cluster cluster(3, kUpTo10s);
  want_for(cluster, 0, 1, 100ms);
  want_for(cluster, 1, 1, 10s);
  cluster.release(0, 1);
  ASSERT_TRUE(cluster.granted(1, 1));
  EXPECT_EQ(cluster.lock(1).lease()->until, cluster.now() + kUpTo10s.hold(10s))
      << "it must not be extended";
}

// --- many locks ---

TEST(LeaseLocks, ShareOneFloorAndForgetWhatIsIdle) {
  Cluster cluster(3, kRules);
  for (std::uint32_t i = 0; i < 5; ++i) {
    cluster.acquire(0, 1, Mode::exclusive, LockId{i});
    EXPECT_EQ(cluster.granted(0, 1)->token, token(1 + i, 1));
    cluster.release(0, 1, LockId{i});
    cluster.pass(2 * kRules.lease);
  }
  EXPECT_EQ(cluster.member(1).state().floor, 5U);
  EXPECT_EQ(cluster.member(0).timers().first(), kNever);
}

// --- the machine contract ---

TEST(LeaseMember, IgnoresMessagesInItsOwnName) {
  Cluster cluster(3, kRules);
  cluster.acquire(0, 1, Mode::exclusive);
  Member member = cluster.member(0);
  Outbox<Member> out;
  Stream stream(1, 1, 1);
  StreamDraw draw(stream);
  Turn<Member> turn{cluster.now(), draw, out};
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    Message message{.kind = static_cast<Kind>(kind), .view = member.state().view().number};
    message.boot = message.to_boot = member.state().boot;
    message.ballot = {.count = 9, .origin = NodeId{0}};
    member.receive(turn, NodeId{0}, message);
  }
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(packed(member, cluster.now()), packed(cluster.member(0), cluster.now()));
}

TEST(LeaseMember, EveryFieldIsInThePackedForm) {
  Cluster cluster(3, kRules);
  cluster.acquire(0, 1, Mode::shared);
  cluster.acquire(1, 1, Mode::exclusive);
  cluster.acquire(2, 1, Mode::shared);
  for (const std::uint32_t site : {0U, 1U, 2U})
    EXPECT_EQ(unnoticed_writes(cluster.member(site), cluster.now()), std::vector<std::string>{})
        << site;
}

}  // namespace
}  // namespace tempo::lock::lease
