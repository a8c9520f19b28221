// King, Gendreau, Ni 1988, section 7: replicated data updating and joining a group, a member alone.
#include "lab/studies/apps/majority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/field_mutator.h"
#include "lab/studies/apps/apps_test_desk.h"
#include "lab/studies/apps/group_joining.h"
#include "lab/studies/apps/replicated_data.h"

namespace tempo::apps {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = Notice::Kind;
using Word = MajorityMessage;

constexpr NodeId kOther{2};
constexpr Ballot kMine{.number = 1, .node = kSelf};
constexpr std::uint64_t kWish = 5;

Word yes(const Ballot& ballot, const Copy& known = {}, const Acknowledged& before = {}) {
  return {
      .kind = Word::Kind::vote, .yes = true, .ballot = ballot, .known = known, .proposed = before};
}
Word propose(const Ballot& ballot, const Copy& known = {}) {
  return {.kind = Word::Kind::propose, .ballot = ballot, .known = known};
}
Word write(const Ballot& ballot, std::uint64_t value, const Copy& known = {}) {
  return {.kind = Word::Kind::write,
          .ballot = ballot,
          .known = known,
          .proposed = {.ballot = ballot, .value = value}};
}
Word ack(const Ballot& ballot, std::uint64_t value, const Copy& known = {}) {
  Word word = write(ballot, value, known);
  word.kind = Word::Kind::ack;
  return word;
}

TEST(ReplicatedData, WritesWithAMajorityAndNotBefore) {
  Desk<ReplicatedData> desk;
  desk.order(Command::ask(kWish));
  EXPECT_THAT(desk.noted(Kind::hold), SizeIs(1));
  desk.elect(kSelf);
  desk.said();
  desk.receive(kSelf, yes(kMine));
  EXPECT_THAT(desk.said(), IsEmpty()) << "one of three";
  desk.receive(kSelf, yes(kMine));
  EXPECT_THAT(desk.said(), IsEmpty()) << "the same one again";
  desk.receive(kOther, yes(kMine));
  const auto said = desk.said();
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].kind, Word::Kind::write);
  EXPECT_EQ(said[0].proposed.value, kWish);
}

TEST(ReplicatedData, CountsWhenAMajorityHasAcknowledged) {
  Desk<ReplicatedData> desk;
  const Ballot theirs{.number = 1, .node = kOther};
  desk.receive(kOther, write(theirs, 8));
  ASSERT_THAT(desk.said(), SizeIs(1)) << "an acknowledgement";
  desk.receive(kSelf, ack(theirs, 8));
  EXPECT_EQ(desk.duty().known().version, 0U);
  desk.receive(kOther, ack(theirs, 8));
  EXPECT_EQ(desk.duty().known(), (Copy{.version = 1, .value = 8}));
}

TEST(ReplicatedData, FollowsNoSmallerBallot) {
  Desk<ReplicatedData> desk;
  const Ballot large{.number = 2, .node = kOther};
  desk.receive(kOther, propose(large));
  desk.receive(NodeId{0}, propose({.number = 1, .node = NodeId{0}}));
  const auto said = desk.said();
  ASSERT_THAT(said, SizeIs(2));
  EXPECT_TRUE(said[0].yes);
  EXPECT_FALSE(said[1].yes);
  EXPECT_EQ(said[1].proposed.ballot, large) << "so that the next try is larger";
  desk.receive(NodeId{0}, write({.number = 1, .node = NodeId{0}}, 8));
  EXPECT_THAT(desk.said(), IsEmpty());
}

TEST(ReplicatedData, FinishesWhatMayHaveBeenWritten) {
  Desk<ReplicatedData> desk;
  desk.order(Command::ask(kWish));
  desk.elect(kSelf);
  desk.said();
  const Ballot mine = kMine;
  desk.receive(kSelf, yes(mine, {}, {.ballot = {.number = 2, .node = kOther}, .value = 8}));
  desk.receive(kOther, yes(mine, {}, {.ballot = {.number = 1, .node = kOther}, .value = 7}));
  const auto said = desk.said();
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].proposed.value, 8U) << "of the newer ballot, and not its own wish";
}

TEST(ReplicatedData, ATellsBWhatItAcknowledged) {
  Desk<ReplicatedData> desk;
  const Ballot theirs{.number = 1, .node = kOther};
  desk.receive(kOther, write(theirs, 8));
  desk.said();
  desk.receive(NodeId{0}, propose({.number = 2, .node = NodeId{0}}));
  const auto said = desk.said();
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].proposed, (Acknowledged{.ballot = theirs, .value = 8}));
}

TEST(ReplicatedData, ProposesMoreThanItHasHeardOf) {
  Desk<ReplicatedData> desk;
  desk.order(Command::ask(kWish));
  Word no{.kind = Word::Kind::vote, .ballot = {.number = 1, .node = kOther}};
  no.proposed.ballot = {.number = 6, .node = kOther};
  desk.receive(NodeId{0}, no);
  desk.elect(kOther);
  EXPECT_THAT(desk.said(), IsEmpty()) << "another is elected";
  desk.elect(kSelf);
  const auto said = desk.said();
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].kind, Word::Kind::propose);
  EXPECT_EQ(said[0].ballot, (Ballot{.number = 7, .node = kSelf}));
}

TEST(ReplicatedData, TellsAProposerWhatItMissed) {
  Desk<ReplicatedData> desk;
  desk.receive(kOther, yes({.number = 9, .node = kOther}, {.version = 4, .value = 6}));
  desk.receive(NodeId{0}, propose({.number = 10, .node = NodeId{0}}, {.version = 3, .value = 1}));
  const auto said = desk.said();
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_FALSE(said[0].yes);
  EXPECT_EQ(said[0].known, (Copy{.version = 4, .value = 6}));
}

TEST(ReplicatedData, CatchesUp) {
  Desk<ReplicatedData> desk;
  desk.receive(kOther, yes({.number = 9, .node = kOther}, {.version = 4, .value = 6}));
  EXPECT_EQ(desk.duty().known(), (Copy{.version = 4, .value = 6}));
  desk.receive(NodeId{0}, write({.number = 10, .node = NodeId{0}}, 1, {.version = 2, .value = 2}));
  EXPECT_THAT(desk.said(), IsEmpty()) << "of a version that is history";
}

TEST(ReplicatedData, AsksAgainUntilItsWishIsWritten) {
  Desk<ReplicatedData> desk;
  desk.order(Command::ask(kWish));
  desk.noted(Kind::hold);
  desk.pass(12 * kBound);
  EXPECT_THAT(desk.noted(Kind::hold), SizeIs(1));
  desk.receive(kOther, yes({.number = 9, .node = kOther}, {.version = 1, .value = kWish}));
  desk.pass(1s);
  EXPECT_THAT(desk.noted(Kind::hold), IsEmpty());
}

TEST(ReplicatedData, NaiveAMajorityOfOneAnswerIsEnough) {
  Rules rules = usual_rules();
  rules.naive = true;
  Desk<ReplicatedData> desk(rules);
  desk.order(Command::ask(kWish));
  desk.elect(kSelf);
  desk.said();
  desk.receive(kSelf, yes(kMine));
  desk.pass(3 * kBound);
  const auto said = desk.said();
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].kind, Word::Kind::write);
  desk.receive(kSelf, said[0]);
  EXPECT_EQ(desk.duty().known(), (Copy{.version = 1, .value = kWish}));
}

// Processes 0 and 1 have founded the group; 2 wants to join.
constexpr Copy kFounders{.version = 0, .value = 0b011};

TEST(GroupJoining, AMemberSaysYesOrNo) {
  Desk<GroupJoining> desk;
  desk.receive(kOther, propose({.number = 1, .node = kOther}, kFounders));
  desk.order(Command::distrust(kOther));
  desk.receive(kOther, propose({.number = 2, .node = kOther}, kFounders));
  const auto said = desk.said();
  ASSERT_THAT(said, SizeIs(2));
  EXPECT_TRUE(said[0].yes);
  EXPECT_FALSE(said[1].yes);
}

TEST(GroupJoining, OnlyMembersCount) {
  Desk<GroupJoining> desk;
  const Ballot joiner{.number = 1, .node = kOther};
  desk.receive(kOther, write(joiner, 0b111, kFounders));
  desk.receive(kOther, ack(joiner, 0b111, kFounders));
  desk.receive(kSelf, ack(joiner, 0b111, kFounders));
  EXPECT_EQ(desk.duty().known(), kFounders) << "one of two members, and one outside";
  desk.receive(NodeId{0}, ack(joiner, 0b111, kFounders));
  EXPECT_EQ(desk.duty().known(), (Copy{.version = 1, .value = 0b111}));
}

TEST(GroupJoining, WhoIsOutsideProposesItself) {
  Rules rules = usual_rules();
  rules.founders = 1;  // 0 alone; we are outside
  Desk<GroupJoining> desk(rules);
  desk.order(Command::ask(1));
  desk.elect(kSelf);
  const auto asked = desk.said();
  ASSERT_THAT(asked, SizeIs(1));
  desk.receive(kSelf, asked[0]);
  EXPECT_THAT(desk.said(), IsEmpty()) << "it has no vote";
  desk.receive(NodeId{0}, yes(kMine, {.version = 0, .value = 0b001}));
  const auto said = desk.said();
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].proposed.value, 0b011U);
}

TEST(Majority, ListsEveryField) {
  Desk<GroupJoining> desk;
  desk.order(Command::distrust(kOther));
  desk.order(Command::ask(1));
  desk.elect(kSelf);
  desk.receive(kSelf, yes(kMine, kFounders));
  desk.receive(kSelf, write(kMine, 7, kFounders));
  desk.receive(kSelf, ack(kMine, 7, kFounders));
  EXPECT_THAT(unnoticed_writes(desk.duty(), desk.now()), IsEmpty());
  EXPECT_EQ(unlisted_bytes(desk.duty()), sizeof(void*)) << "the rules alone";
}

}  // namespace
}  // namespace tempo::apps
