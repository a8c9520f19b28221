// King, Gendreau, Ni 1988, section 7: replicated data and joining a group, at a single member.
#include "lab/studies/group/apps/majority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/studies/group/apps/apps_test_harness.h"
#include "lab/studies/group/apps/group_joining.h"
#include "lab/studies/group/apps/replicated_data.h"
#include "machine/field_mutator.h"

namespace tempo::apps {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = Notice::Kind;
using Message = MajorityMessage;

constexpr NodeId kOther{2};
constexpr Ballot kMine{.number = 1, .node = kSelf};
constexpr std::uint64_t kRequested = 5;

Message yes(const Ballot& ballot, const Copy& known = {}, const Acknowledged& before = {}) {
  return {.kind = Message::Kind::vote,
          .yes = true,
          .ballot = ballot,
          .known = known,
          .proposed = before};
}
Message propose(const Ballot& ballot, const Copy& known = {}) {
  return {.kind = Message::Kind::propose, .ballot = ballot, .known = known};
}
Message write(const Ballot& ballot, std::uint64_t value, const Copy& known = {}) {
  return {.kind = Message::Kind::write,
          .ballot = ballot,
          .known = known,
          .proposed = {.ballot = ballot, .value = value}};
}
Message ack(const Ballot& ballot, std::uint64_t value, const Copy& known = {}) {
  Message message = write(ballot, value, known);
  message.kind = Message::Kind::ack;
  return message;
}

TEST(ReplicatedData, WritesOnlyWithAMajority) {
  Harness<ReplicatedData> harness;
  harness.command(Command::ask(kRequested));
  EXPECT_THAT(harness.notices(Kind::hold), SizeIs(1));
  harness.elect(kSelf);
  harness.sent();
  harness.receive(kSelf, yes(kMine));
  EXPECT_THAT(harness.sent(), IsEmpty()) << "one vote of three";
  harness.receive(kSelf, yes(kMine));
  EXPECT_THAT(harness.sent(), IsEmpty()) << "the same vote again";
  harness.receive(kOther, yes(kMine));
  const auto sent = harness.sent();
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(sent[0].kind, Message::Kind::write);
  EXPECT_EQ(sent[0].proposed.value, kRequested);
}

TEST(ReplicatedData, CountsAWriteAcknowledgedByAMajority) {
  Harness<ReplicatedData> harness;
  const Ballot theirs{.number = 1, .node = kOther};
  harness.receive(kOther, write(theirs, 8));
  ASSERT_THAT(harness.sent(), SizeIs(1)) << "the acknowledgement";
  harness.receive(kSelf, ack(theirs, 8));
  EXPECT_EQ(harness.duty().known().version, 0U);
  harness.receive(kOther, ack(theirs, 8));
  EXPECT_EQ(harness.duty().known(), (Copy{.version = 1, .value = 8}));
}

TEST(ReplicatedData, FollowsNoSmallerBallot) {
  Harness<ReplicatedData> harness;
  const Ballot large{.number = 2, .node = kOther};
  harness.receive(kOther, propose(large));
  harness.receive(NodeId{0}, propose({.number = 1, .node = NodeId{0}}));
  const auto sent = harness.sent();
  ASSERT_THAT(sent, SizeIs(2));
  EXPECT_TRUE(sent[0].yes);
  EXPECT_FALSE(sent[1].yes);
  EXPECT_EQ(sent[1].proposed.ballot, large) << "the next attempt must be larger";
  harness.receive(NodeId{0}, write({.number = 1, .node = NodeId{0}}, 8));
  EXPECT_THAT(harness.sent(), IsEmpty());
}

TEST(ReplicatedData, FinishesAValueThatMayBeWritten) {
  Harness<ReplicatedData> harness;
  harness.command(Command::ask(kRequested));
  harness.elect(kSelf);
  harness.sent();
  const Ballot mine = kMine;
  harness.receive(kSelf, yes(mine, {}, {.ballot = {.number = 2, .node = kOther}, .value = 8}));
  harness.receive(kOther, yes(mine, {}, {.ballot = {.number = 1, .node = kOther}, .value = 7}));
  const auto sent = harness.sent();
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(sent[0].proposed.value, 8U) << "the value of the newer ballot, not its own";
}

TEST(ReplicatedData, ReportsItsAcknowledgedValue) {
  Harness<ReplicatedData> harness;
  const Ballot theirs{.number = 1, .node = kOther};
  harness.receive(kOther, write(theirs, 8));
  harness.sent();
  harness.receive(NodeId{0}, propose({.number = 2, .node = NodeId{0}}));
  const auto sent = harness.sent();
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(sent[0].proposed, (Acknowledged{.ballot = theirs, .value = 8}));
}

TEST(ReplicatedData, ProposesALargerBallotThanAllSeen) {
  Harness<ReplicatedData> harness;
  harness.command(Command::ask(kRequested));
  Message no{.kind = Message::Kind::vote, .ballot = {.number = 1, .node = kOther}};
  no.proposed.ballot = {.number = 6, .node = kOther};
  harness.receive(NodeId{0}, no);
  harness.elect(kOther);
  EXPECT_THAT(harness.sent(), IsEmpty()) << "another member is elected";
  harness.elect(kSelf);
  const auto sent = harness.sent();
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(sent[0].kind, Message::Kind::propose);
  EXPECT_EQ(sent[0].ballot, (Ballot{.number = 7, .node = kSelf}));
}

TEST(ReplicatedData, ReportsMissedVersionsToAProposer) {
  Harness<ReplicatedData> harness;
  harness.receive(kOther, yes({.number = 9, .node = kOther}, {.version = 4, .value = 6}));
  harness.receive(NodeId{0},
                  propose({.number = 10, .node = NodeId{0}}, {.version = 3, .value = 1}));
  const auto sent = harness.sent();
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_FALSE(sent[0].yes);
  EXPECT_EQ(sent[0].known, (Copy{.version = 4, .value = 6}));
}

TEST(ReplicatedData, CatchesUp) {
  Harness<ReplicatedData> harness;
  harness.receive(kOther, yes({.number = 9, .node = kOther}, {.version = 4, .value = 6}));
  EXPECT_EQ(harness.duty().known(), (Copy{.version = 4, .value = 6}));
  harness.receive(NodeId{0},
                  write({.number = 10, .node = NodeId{0}}, 1, {.version = 2, .value = 2}));
  EXPECT_THAT(harness.sent(), IsEmpty()) << "the message concerns an old version";
}

TEST(ReplicatedData, RetriesUntilItsRequestIsWritten) {
  Harness<ReplicatedData> harness;
  harness.command(Command::ask(kRequested));
  harness.notices(Kind::hold);
  harness.pass(12 * kBound);
  EXPECT_THAT(harness.notices(Kind::hold), SizeIs(1));
  harness.receive(kOther, yes({.number = 9, .node = kOther}, {.version = 1, .value = kRequested}));
  harness.pass(1s);
  EXPECT_THAT(harness.notices(Kind::hold), IsEmpty());
}

TEST(ReplicatedData, InTheNaiveVersionOneAnswerIsAMajority) {
  Rules rules = default_rules();
  rules.naive = true;
  Harness<ReplicatedData> harness(rules);
  harness.command(Command::ask(kRequested));
  harness.elect(kSelf);
  harness.sent();
  harness.receive(kSelf, yes(kMine));
  harness.pass(3 * kBound);
  const auto sent = harness.sent();
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(sent[0].kind, Message::Kind::write);
  harness.receive(kSelf, sent[0]);
  EXPECT_EQ(harness.duty().known(), (Copy{.version = 1, .value = kRequested}));
}

// Processes 0 and 1 are the founders; 2 wants to join.
constexpr Copy kFounders{.version = 0, .value = 0b011};

TEST(GroupJoining, MemberVotesYesOrNo) {
  Harness<GroupJoining> harness;
  harness.receive(kOther, propose({.number = 1, .node = kOther}, kFounders));
  harness.command(Command::distrust(kOther));
  harness.receive(kOther, propose({.number = 2, .node = kOther}, kFounders));
  const auto sent = harness.sent();
  ASSERT_THAT(sent, SizeIs(2));
  EXPECT_TRUE(sent[0].yes);
  EXPECT_FALSE(sent[1].yes);
}

TEST(GroupJoining, OnlyVotesOfMembersCount) {
  Harness<GroupJoining> harness;
  const Ballot joiner{.number = 1, .node = kOther};
  harness.receive(kOther, write(joiner, 0b111, kFounders));
  harness.receive(kOther, ack(joiner, 0b111, kFounders));
  harness.receive(kSelf, ack(joiner, 0b111, kFounders));
  EXPECT_EQ(harness.duty().known(), kFounders)
      << "one vote of two members, and one of a non-member";
  harness.receive(NodeId{0}, ack(joiner, 0b111, kFounders));
  EXPECT_EQ(harness.duty().known(), (Copy{.version = 1, .value = 0b111}));
}

TEST(GroupJoining, NonMemberProposesItself) {
  Rules rules = default_rules();
  rules.founders = 1;  // only 0; we are not a member
  Harness<GroupJoining> harness(rules);
  harness.command(Command::ask(1));
  harness.elect(kSelf);
  const auto asked = harness.sent();
  ASSERT_THAT(asked, SizeIs(1));
  harness.receive(kSelf, asked[0]);
  EXPECT_THAT(harness.sent(), IsEmpty()) << "a non-member has no vote";
  harness.receive(NodeId{0}, yes(kMine, {.version = 0, .value = 0b001}));
  const auto sent = harness.sent();
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(sent[0].proposed.value, 0b011U);
}

TEST(Majority, ListsEveryField) {
  Harness<GroupJoining> harness;
  harness.command(Command::distrust(kOther));
  harness.command(Command::ask(1));
  harness.elect(kSelf);
  harness.receive(kSelf, yes(kMine, kFounders));
  harness.receive(kSelf, write(kMine, 7, kFounders));
  harness.receive(kSelf, ack(kMine, 7, kFounders));
  EXPECT_THAT(unnoticed_writes(harness.duty(), harness.now()), IsEmpty());
}

}  // namespace
}  // namespace tempo::apps
