#include "protocol/lock/lock_status.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace tempo::locks {
namespace {

using lock::lease::changed;
using lock::lease::one_vote_each;
using lock::lease::two_members;
using lock::lease::TwoNode;
using lock::lease::View;

std::string of(const View& view) {
  return lock_status(view, "host" + std::to_string(index(needed_voter(view))));
}

TEST(LockStatus, IsOneSentence) {
  EXPECT_EQ(of(one_vote_each(1)), "1 voter; locks need host0");
  EXPECT_EQ(of(one_vote_each(2)), "2 voters; locks need both");
  EXPECT_EQ(of(one_vote_each(3)), "3 voters; locks survive the loss of 1");
  EXPECT_EQ(of(one_vote_each(4)), "4 voters; locks survive the loss of 1");
  EXPECT_EQ(of(two_members(TwoNode::preferred)), "2 voters; locks need host0");
  EXPECT_EQ(of(*changed(one_vote_each(4), NodeId{2}, 2)), "4 voters; locks need 3 of 5 votes");
  EXPECT_EQ(of(*changed(one_vote_each(3), NodeId{0}, 0)), "2 voters; locks need both");
  EXPECT_TRUE(of(two_members(TwoNode::available)).starts_with("2 voters; locks are UNSAFE: "));
}

// The number of losses in the sentence is the one that the quorum of the view allows.
TEST(LockStatus, AgreesWithTheQuorum) {
  for (std::uint32_t voters = 3; voters <= lock::lease::kMaxVoters; ++voters) {
    const View view = one_vote_each(voters);
    std::uint32_t needed = 1;
    while (!view.quorum(static_cast<lock::lease::Voters>((1U << needed) - 1))) ++needed;
    EXPECT_EQ(of(view), std::to_string(voters) + " voters; locks survive the loss of " +
                            std::to_string(voters - needed));
  }
}

std::vector<VoterSight> sights(std::initializer_list<bool> reachable) {
  std::vector<VoterSight> voters;
  for (const bool one : reachable)
    voters.push_back({.name = fmt::format("host{}", voters.size()),
                      .reachable = one,
                      .silence = one ? "" : "stopped"});
  return voters;
}

TEST(LossesSurvived, CountsTheReachableVotersOnly) {
  const View three = one_vote_each(3);
  EXPECT_EQ(losses_survived(three, sights({true, true, true})), 1U);
  EXPECT_EQ(losses_survived(three, sights({true, false, true})), 0U);
  EXPECT_EQ(losses_survived(three, sights({true, false, false})), std::nullopt);
  EXPECT_EQ(losses_survived(one_vote_each(5), sights({true, true, true, true, false})), 1U);
}

// The voters that fail may be those with most votes.
TEST(LossesSurvived, CountsVotes) {
  const View preferred = two_members(TwoNode::preferred);
  std::vector<VoterSight> voters = sights({true, true});
  voters[0].votes = 2;
  EXPECT_EQ(losses_survived(preferred, voters), 0U);
  voters[1].reachable = false;
  EXPECT_EQ(losses_survived(preferred, voters), 0U);
  voters = sights({false, true});
  voters[0].votes = 2;
  EXPECT_EQ(losses_survived(preferred, voters), std::nullopt);
  EXPECT_EQ(no_majority_text(preferred, voters),
            "no locks: 1 of 2 voters reachable, 2 votes needed; host0 stopped");
  EXPECT_EQ(losses_survived(two_members(TwoNode::available), sights({true, false})), 0U);
}

TEST(NoMajority, NamesTheVotersThatAreNotReachable) {
  EXPECT_EQ(no_majority_text(one_vote_each(3), sights({true, true, false})), "");
  std::vector<VoterSight> voters = sights({true, false, false});
  voters[2].silence = "silent for 12 s";
  EXPECT_EQ(no_majority_text(one_vote_each(3), voters),
            "no locks: 1 of 3 voters reachable, 2 needed; host1 stopped, host2 silent for 12 s");
}

}  // namespace
}  // namespace tempo::locks
