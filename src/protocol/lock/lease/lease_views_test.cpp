// The lease lock, section 9 of its specification: voters, members without a vote, and changes of
// the view.
#include <gtest/gtest.h>

#include "protocol/lock/lease/lease_member.h"
#include "protocol/lock/lease/lease_test_cluster.h"

namespace tempo::lock::lease {
namespace {

// --- section 9: voters and members without a vote ---

// Three members vote; the other members are served in the same way.
TEST(LeaseAskers, AskWaitHoldAndHandOver) {
  Cluster cluster(24, kRules, one_vote_each(3));
  cluster.acquire(20, 1);
  ASSERT_TRUE(cluster.granted(20, 1));
  EXPECT_EQ(cluster.sent_count(Kind::grant), 3U);  // its own vote is missing
  for (std::uint32_t site = 0; site < 20; ++site) cluster.acquire(site, 1);
  cluster.clear_counts();
  cluster.release(20, 1);
  for (std::uint32_t site = 0; site < 20; ++site) {
    ASSERT_TRUE(cluster.granted(site, 1)) << site;
    cluster.release(site, 1);
  }
  EXPECT_EQ(cluster.sent_count(Kind::pass), 20U);
  EXPECT_EQ(cluster.total_sent(), 20U);
  EXPECT_EQ(cluster.granted(19, 1)->token, token(1, 1 + 2 * 20));
}

TEST(LeaseAskers, AreNoQuorum) {
  Cluster cluster(24, kRules, one_vote_each(3));
  cluster.crash(0);
  cluster.crash(1);
  cluster.acquire(20, 1);
  cluster.pass(5 * kRules.lease);
  EXPECT_FALSE(cluster.granted(20, 1));
}

// More members than a lock has entries for: those with the oldest waiters have one.
TEST(LeaseAskers, KeepsTheOldestWaiters) {
  Peers peers;
  const auto ask = [&](std::uint32_t member, std::uint64_t ticket) {
    Message message{.kind = Kind::ask, .boot = Boot{1}, .k = 1};
    message.waiting.push_back({ticket, Mode::exclusive});
    peers.learn(NodeId{member}, message, BootTime{}, kRules, kNobody);
  };
  for (std::uint32_t i = 0; i < kMaxPeers; ++i) ask(i, 100 + i);
  ask(200, 1000);
  EXPECT_EQ(peers.of(NodeId{200}).member, kNobody);
  ask(201, 50);
  EXPECT_EQ(peers.of(NodeId{201}).first(), (QueuePosition{50, NodeId{201}}));
  EXPECT_EQ(peers.of(NodeId{kMaxPeers - 1}).member, kNobody);  // it had waited the shortest time
  EXPECT_EQ(peers.all().size(), kMaxPeers);
  EXPECT_EQ(peers.standings(kNobody)[0].member, NodeId{201});
}

// --- section 9: views ---

TEST(LeaseViews, ChangesOneVoteAtATime) {
  const View three = one_vote_each(3);
  ASSERT_TRUE(changed(three, NodeId{3}, 1));
  EXPECT_EQ(changed(three, NodeId{3}, 1)->number, 2U);
  EXPECT_EQ(changed(three, NodeId{3}, 1)->voters(), 0b1111);
  EXPECT_EQ(changed(three, NodeId{0}, 0)->voters(), 0b110);
  EXPECT_TRUE(changed(three, NodeId{0}, 2));
  EXPECT_FALSE(changed(three, NodeId{0}, 1));
  EXPECT_FALSE(changed(three, NodeId{0}, 3));
  EXPECT_FALSE(changed(one_vote_each(kMaxVoters), NodeId{40}, 1));
  EXPECT_FALSE(changed(one_vote_each(1), NodeId{0}, 0));
  EXPECT_FALSE(changed(two_members(TwoNode::available), NodeId{2}, 1));
}

TEST(LeaseViews, JoiningAndForgettingAMember) {
  Cluster cluster(4, kRules, one_vote_each(3));
  cluster.command(0, Command::change(NodeId{3}, 1));
  EXPECT_EQ(cluster.views(2).size(), 4U);
  EXPECT_EQ(cluster.member(1).state().view().voters(), 0b1111);
  // Not before leases of the first view have ended.
  cluster.command(1, Command::change(NodeId{0}, 0));
  cluster.pass(kRules.keep(kRules.longest) - 1ns);
  EXPECT_EQ(cluster.views(3).size(), 0U);
  cluster.pass(kRules.lease);
  EXPECT_EQ(cluster.views(3).size(), 4U);
  EXPECT_EQ(cluster.disk(2)->view.voters(), 0b1110);
  cluster.crash(1);
  cluster.crash(2);
  cluster.acquire(0, 1);
  cluster.pass(5 * kRules.lease);
  EXPECT_FALSE(cluster.granted(0, 1));  // 3 is not enough, and the vote of 0 is gone
}

// Any member can vote: a voter has a slot, which does not depend on its number.
TEST(LeaseViews, AnyMemberCanGetAVote) {
  View view = *changed(one_vote_each(3), NodeId{11}, 1);
  EXPECT_EQ(view.slot_of(NodeId{11}), 3U);
  view = *changed(view, NodeId{1}, 0);
  EXPECT_FALSE(view.slot_of(NodeId{1}));
  view = *changed(view, NodeId{12}, 1);
  EXPECT_EQ(view.slot_of(NodeId{12}), 1U) << "the first free slot";
  EXPECT_EQ(view.slot_of(NodeId{11}), 3U) << "a voter keeps its slot";

  Cluster cluster(12, kRules, one_vote_each(3));
  cluster.command(0, Command::change(NodeId{11}, 1));
  cluster.pass(3 * kRules.lease);
  cluster.command(0, Command::change(NodeId{0}, 0));
  cluster.pass(3 * kRules.lease);
  EXPECT_EQ(cluster.member(5).state().view().number, 3U);
  cluster.crash(1);
  cluster.acquire(7, 1);
  cluster.pass(kRules.lease);
  EXPECT_TRUE(cluster.granted(7, 1)) << "2 and 11 are two of three";
  cluster.crash(11);
  cluster.crash(7);
  cluster.acquire(8, 1);
  cluster.pass(5 * kRules.lease);
  EXPECT_FALSE(cluster.granted(8, 1));
}

// 0 and 2 are cut off while 5 gets the slot that 2 had. The grant of 2 is not a grant of 5. The
// scenario also ends well if the grant is not forgotten: the ballot of 0 is below the floor of the
// new view.
TEST(LeaseViews, AGrantIsNotInheritedWithASlot) {
  Cluster cluster(6, kRules, one_vote_each(5));
  const auto apart = [](NodeId site) { return site == NodeId{0} || site == NodeId{2}; };
  cluster.set_delivery([&](const Cluster::Datagram& datagram) {
    return apart(datagram.from) == apart(datagram.to);
  });
  cluster.acquire(0, 1);
  cluster.command(1, Command::change(NodeId{2}, 0));
  cluster.pass(3 * kRules.lease);
  cluster.command(1, Command::change(NodeId{5}, 1));
  cluster.pass(3 * kRules.lease);
  ASSERT_EQ(cluster.member(5).state().view().slot_of(NodeId{5}), 2U);
  ASSERT_EQ(cluster.member(0).state().view().number, 1U);
  // 0 learns of the new view and asks again, but only 1 receives it; 3, 4 and 5 are a majority
  // for 3.
  cluster.set_delivery([&](const Cluster::Datagram& datagram) {
    const auto together = [&](NodeId one, NodeId other) {
      return (datagram.from == one && datagram.to == other) ||
             (datagram.from == other && datagram.to == one);
    };
    if (datagram.message.kind == Kind::record) return true;
    return together(NodeId{0}, NodeId{1}) || (index(datagram.from) >= 3 && index(datagram.to) >= 3);
  });
  cluster.pass(kRules.lease);
  ASSERT_EQ(cluster.member(0).state().view().number, 3U);
  cluster.acquire(3, 1);
  cluster.pass(kRules.lease / 2);
  EXPECT_TRUE(cluster.granted(3, 1));
  EXPECT_FALSE(cluster.granted(0, 1)) << "two inside";
}

TEST(LeaseViews, AChangeCanBeWithdrawn) {
  Cluster cluster(3, kRules);
  cluster.crash(1);
  cluster.crash(2);
  cluster.command(0, Command::change(NodeId{2}, 0));
  cluster.pass(2 * kRules.lease);
  cluster.command(0, Command::no_change());
  cluster.pass(kRules.lease);
  cluster.clear_counts();
  cluster.pass(kRules.lease);
  EXPECT_EQ(cluster.total_sent(), 0U);
  cluster.resume(1);
  cluster.pass(3 * kRules.lease);
  EXPECT_EQ(cluster.member(0).state().view().number, 1U);
}

TEST(LeaseViews, NeedAMajorityOfTheOldAndTheNewVoters) {
  Cluster cluster(4, kRules, one_vote_each(3));
  cluster.crash(3);
  cluster.crash(2);
  cluster.command(0, Command::change(NodeId{3}, 1));
  cluster.pass(5 * kRules.lease);
  EXPECT_EQ(cluster.member(0).state().view().number, 1U);  // two of three, but not three of four
  cluster.resume(3);
  cluster.pass(2 * kRules.lease);
  EXPECT_EQ(cluster.member(0).state().view().number, 2U);
}

TEST(LeaseViews, LocksContinueDuringAChange) {
  Cluster cluster(4, kRules, one_vote_each(3));
  cluster.acquire(0, 1);
  cluster.command(1, Command::change(NodeId{3}, 1));
  cluster.pass(3 * kRules.lease);
  cluster.command(1, Command::change(NodeId{0}, 0));
  cluster.pass(3 * kRules.lease);
  EXPECT_EQ(cluster.member(0).state().view().number, 3U);
  EXPECT_FALSE(cluster.lost(0, 1));
  cluster.acquire(2, 1);
  EXPECT_FALSE(cluster.granted(2, 1));
  cluster.release(0, 1);
  EXPECT_TRUE(cluster.granted(2, 1));
}

TEST(LeaseViews, AReturningMemberLearnsTheView) {
  Cluster cluster(4, kRules, one_vote_each(3));
  cluster.crash(2);
  cluster.command(0, Command::change(NodeId{3}, 1));
  cluster.resume(2);
  EXPECT_EQ(cluster.member(2).state().view().number, 1U);
  cluster.acquire(2, 1);
  cluster.pass(kRules.lease);
  EXPECT_EQ(cluster.member(2).state().view().number, 2U);
  EXPECT_TRUE(cluster.granted(2, 1));
}

TEST(LeaseViews, ReportsARefusedChange) {
  Cluster cluster(3, kRules);
  cluster.command(0, Command::change(NodeId{0}, 1));
  ASSERT_FALSE(cluster.events().empty());
  EXPECT_EQ(cluster.events().back().notice.kind, Notice::Kind::refused);
  EXPECT_EQ(cluster.events().back().notice.lock, kViewLock);
}

}  // namespace
}  // namespace tempo::lock::lease
