// Clones: two machines with the identity of one voter. Its copied record votes only after voters
// that are a quorum without it have confirmed it, and then no message of the other machine counts.
#include <gtest/gtest.h>

#include "protocol/lock/lease/lease_clone_test_runs.h"
#include "protocol/lock/lease/lease_member.h"
#include "protocol/lock/lease/lease_test_cluster.h"

namespace tempo::lock::lease {
namespace {

TEST(LeaseClaims, NoTwoHoldersWithAClone) {
  EXPECT_EQ(clone_runs::clone_beyond_a_partition(), "nothing");
  EXPECT_EQ(clone_runs::confirmed_clone(), "nothing");
  EXPECT_EQ(clone_runs::confirmed_clone_and_a_restart(), "nothing");
  EXPECT_EQ(clone_runs::clone_of_a_forgotten_voter(), "nothing");
  EXPECT_EQ(clone_runs::lease_of_the_voter(), "nothing");
  EXPECT_EQ(clone_runs::asker_that_hears_the_voter(), "nothing");
  EXPECT_EQ(clone_runs::asker_that_hears_the_clone(), "nothing");
  EXPECT_EQ(clone_runs::vote_of_a_retired_voter(), "nothing");
  EXPECT_EQ(clone_runs::vote_after_a_lost_record(), "nothing");
}

// One host's record was restored from an older state while the others ran: it had the boot of its
// last process again, was believed, and gave a token twice (seed 3597 of the records).
TEST(LeaseClaims, AnOldCopyOfARecordDoesNotVote) {
  EXPECT_EQ(clone_runs::ask_with_an_old_copy(), "nothing");
  EXPECT_EQ(clone_runs::vote_with_an_old_copy(), "nothing");
}

TEST(LeaseClaims, AVoterWithAnOldCopyRetires) {
  Cluster cluster(3, kRules);
  const Record copy = *cluster.disk(2);
  for (int i = 0; i < 2; ++i) cluster.restart(2);
  cluster.pass(clone_runs::kLonger);
  cluster.acquire(2, 1);
  cluster.release(2, 1);
  cluster.crash(2);
  cluster.restore_disk(2, copy);
  cluster.restart(2);
  cluster.pass(clone_runs::kLonger);
  cluster.acquire(2, 2);
  EXPECT_TRUE(cluster.member(2).state().retired);
  EXPECT_FALSE(cluster.granted(2, 2));
  EXPECT_EQ(cluster.events().back().notice.kind, Notice::Kind::retired);
}

// A late message of an earlier process of an honest voter retires nobody.
TEST(LeaseClaims, ALateMessageRetiresNobody) {
  Cluster cluster(3, kRules);
  cluster.acquire(2, 1);
  cluster.release(2, 1);
  const auto late = cluster.sent().front();
  cluster.restart(2);
  cluster.pass(clone_runs::kLonger);
  cluster.acquire(2, 2);
  cluster.release(2, 2);
  for (const std::uint32_t to : {0U, 1U}) cluster.inject(NodeId{2}, to, late);
  cluster.acquire(2, 3);
  EXPECT_TRUE(cluster.granted(2, 3));
  EXPECT_FALSE(cluster.member(2).state().retired);
}

// One of two other voters is no quorum: the clone waits.
TEST(LeaseClaims, ACopiedRecordWaitsForAQuorumWithoutIt) {
  Cluster cluster(3, kRules);
  cluster.part({0, 2}, {1, 3});
  const std::uint32_t clone = cluster.start_clone(2);
  cluster.pass(20 * kRules.lease);
  EXPECT_TRUE(cluster.member(clone).blank());
  ASSERT_EQ(cluster.disk(1)->claims.size(), 1U) << "one has confirmed it";
  EXPECT_EQ(cluster.disk(1)->claims[0].member, NodeId{2});
  EXPECT_TRUE(cluster.disk(0)->claims.empty());
}

TEST(LeaseClaims, AConfirmedRecordVotesWhenOldLeasesAreOver) {
  Cluster cluster(3, kRules);
  cluster.part({0, 1, 3}, {2});
  const std::uint32_t clone = cluster.start_clone(2);
  ASSERT_FALSE(cluster.member(clone).blank());
  EXPECT_EQ(cluster.member(clone).state().abstain_until,
            cluster.now() + kRules.keep(kRules.longest));
  EXPECT_GE(cluster.member(clone).state().boot, Boot{65'536}) << "above every boot of the voter";
  EXPECT_NE(cluster.disk(clone)->id, RecordId{});
  EXPECT_NE(cluster.disk(clone)->id, cluster.disk(2)->id);
}

// The voter learns of the claim from the first voter that has confirmed it.
TEST(LeaseClaims, AVoterRetiresWhenItsCloneWasConfirmed) {
  Cluster cluster(3, kRules);
  cluster.part({0, 1, 3}, {2});
  const std::uint32_t clone = cluster.start_clone(2);
  cluster.pass(clone_runs::kLonger);
  cluster.part({0, 2}, {});
  cluster.clear_counts();
  cluster.acquire(2, 1);
  EXPECT_TRUE(cluster.member(2).state().retired);
  ASSERT_FALSE(cluster.events().empty());
  EXPECT_EQ(cluster.events().back().notice.kind, Notice::Kind::retired);
  EXPECT_FALSE(cluster.member(clone).state().retired);
}

TEST(LeaseClaims, AnAnswerToAnEarlierClaimRaisesNone) {
  EXPECT_EQ(clone_runs::answer_to_an_earlier_claim(), "nothing");
}

// An honest restart keeps its record: nobody has to confirm it.
TEST(LeaseClaims, ARestartedVoterClaimsNothing) {
  Cluster cluster(3, kRules);
  cluster.crash(1);
  cluster.restart(2);
  cluster.pass(kRules.keep(kRules.longest));
  cluster.acquire(0, 1);
  EXPECT_TRUE(cluster.granted(0, 1));
  EXPECT_EQ(cluster.sent_count(Kind::query), 0U);
  EXPECT_TRUE(cluster.disk(0)->claims.empty());
}

}  // namespace
}  // namespace tempo::lock::lease
