#include "protocol/lock/promise.h"

#include <gtest/gtest.h>

namespace tempo::locks {
namespace {

using lock::lease::changed;
using lock::lease::one_vote_each;
using lock::lease::two_members;
using lock::lease::TwoNode;
using lock::lease::View;

std::string of(const View& view) {
  return promise_of(view, [](NodeId node) { return "host" + std::to_string(index(node)); });
}

TEST(Promise, IsOneSentence) {
  EXPECT_EQ(of(one_vote_each(1)), "locks are safe while host0 answers");
  EXPECT_EQ(of(one_vote_each(2)), "locks are safe while 2 of 2 members answer");
  EXPECT_EQ(of(one_vote_each(3)), "locks are safe while 2 of 3 members answer");
  EXPECT_EQ(of(one_vote_each(4)), "locks are safe while 3 of 4 members answer");
  EXPECT_EQ(of(two_members(TwoNode::preferred)), "locks are safe while host0 answers");
  EXPECT_EQ(of(*changed(one_vote_each(4), NodeId{2}, 2)),
            "locks are safe while members with 3 of 5 votes answer");
  EXPECT_EQ(of(*changed(one_vote_each(3), NodeId{0}, 0)),
            "locks are safe while 2 of 2 members answer");
  EXPECT_TRUE(of(two_members(TwoNode::available)).starts_with("locks are UNSAFE"));
}

// What the sentence says of how many must answer is what the machine asks for.
TEST(Promise, IsWhatTheMachineDoes) {
  for (std::uint32_t voters = 2; voters <= lock::lease::kMaxVoters; ++voters) {
    const View view = one_vote_each(voters);
    std::uint32_t needed = 1;
    while (!view.quorum(static_cast<lock::lease::Voters>((1U << needed) - 1))) ++needed;
    EXPECT_EQ(of(view), "locks are safe while " + std::to_string(needed) + " of " +
                            std::to_string(voters) + " members answer");
  }
}

}  // namespace
}  // namespace tempo::locks
