#include "protocol/lock/lock_status.h"

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

}  // namespace
}  // namespace tempo::locks
