// King, Gendreau, Ni 1988, section 7: replicated data updating and joining a group, a member alone.
#include "lab/studies/apps/majority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/studies/apps/apps_test_harness.h"
#include "lab/studies/apps/group_joining.h"
#include "lab/studies/apps/replicated_data.h"
#include "machine/field_mutator.h"

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
  Harness<ReplicatedData> harness;
  harness.order(Command::ask(kWish));
  EXPECT_THAT(harness.noted(Kind::hold), SizeIs(1));
  harness.elect(kSelf);
  harness.said();
  harness.receive(kSelf, yes(kMine));
  EXPECT_THAT(harness.said(), IsEmpty()) << "one of three";
  harness.receive(kSelf, yes(kMine));
  EXPECT_THAT(harness.said(), IsEmpty()) << "the same one again";
  harness.receive(kOther, yes(kMine));
  const auto said = harness.said();
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].kind, Word::Kind::write);
  EXPECT_EQ(said[0].proposed.value, kWish);
}

TEST(ReplicatedData, CountsWhenAMajorityHasAcknowledged) {
  Harness<ReplicatedData> harness;
  const Ballot theirs{.number = 1, .node = kOther};
  harness.receive(kOther, write(theirs, 8));
  ASSERT_THAT(harness.said(), SizeIs(1)) << "an acknowledgement";
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
  const auto said = harness.said();
  ASSERT_THAT(said, SizeIs(2));
  EXPECT_TRUE(said[0].yes);
  EXPECT_FALSE(said[1].yes);
  EXPECT_EQ(said[1].proposed.ballot, large) << "so that the next try is larger";
  harness.receive(NodeId{0}, write({.number = 1, .node = NodeId{0}}, 8));
  EXPECT_THAT(harness.said(), IsEmpty());
}

TEST(ReplicatedData, FinishesWhatMayHaveBeenWritten) {
  Harness<ReplicatedData> harness;
  harness.order(Command::ask(kWish));
  harness.elect(kSelf);
  harness.said();
  const Ballot mine = kMine;
  harness.receive(kSelf, yes(mine, {}, {.ballot = {.number = 2, .node = kOther}, .value = 8}));
  harness.receive(kOther, yes(mine, {}, {.ballot = {.number = 1, .node = kOther}, .value = 7}));
  const auto said = harness.said();
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].proposed.value, 8U) << "of the newer ballot, and not its own wish";
}

TEST(ReplicatedData, ATellsBWhatItAcknowledged) {
  Harness<ReplicatedData> harness;
  const Ballot theirs{.number = 1, .node = kOther};
  harness.receive(kOther, write(theirs, 8));
  harness.said();
  harness.receive(NodeId{0}, propose({.number = 2, .node = NodeId{0}}));
  const auto said = harness.said();
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].proposed, (Acknowledged{.ballot = theirs, .value = 8}));
}

TEST(ReplicatedData, ProposesMoreThanItHasHeardOf) {
  Harness<ReplicatedData> harness;
  harness.order(Command::ask(kWish));
  Word no{.kind = Word::Kind::vote, .ballot = {.number = 1, .node = kOther}};
  no.proposed.ballot = {.number = 6, .node = kOther};
  harness.receive(NodeId{0}, no);
  harness.elect(kOther);
  EXPECT_THAT(harness.said(), IsEmpty()) << "another is elected";
  harness.elect(kSelf);
  const auto said = harness.said();
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].kind, Word::Kind::propose);
  EXPECT_EQ(said[0].ballot, (Ballot{.number = 7, .node = kSelf}));
}

TEST(ReplicatedData, TellsAProposerWhatItMissed) {
  Harness<ReplicatedData> harness;
  harness.receive(kOther, yes({.number = 9, .node = kOther}, {.version = 4, .value = 6}));
  harness.receive(NodeId{0},
                  propose({.number = 10, .node = NodeId{0}}, {.version = 3, .value = 1}));
  const auto said = harness.said();
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_FALSE(said[0].yes);
  EXPECT_EQ(said[0].known, (Copy{.version = 4, .value = 6}));
}

TEST(ReplicatedData, CatchesUp) {
  Harness<ReplicatedData> harness;
  harness.receive(kOther, yes({.number = 9, .node = kOther}, {.version = 4, .value = 6}));
  EXPECT_EQ(harness.duty().known(), (Copy{.version = 4, .value = 6}));
  harness.receive(NodeId{0},
                  write({.number = 10, .node = NodeId{0}}, 1, {.version = 2, .value = 2}));
  EXPECT_THAT(harness.said(), IsEmpty()) << "of a version that is history";
}

TEST(ReplicatedData, AsksAgainUntilItsWishIsWritten) {
  Harness<ReplicatedData> harness;
  harness.order(Command::ask(kWish));
  harness.noted(Kind::hold);
  harness.pass(12 * kBound);
  EXPECT_THAT(harness.noted(Kind::hold), SizeIs(1));
  harness.receive(kOther, yes({.number = 9, .node = kOther}, {.version = 1, .value = kWish}));
  harness.pass(1s);
  EXPECT_THAT(harness.noted(Kind::hold), IsEmpty());
}

TEST(ReplicatedData, NaiveAMajorityOfOneAnswerIsEnough) {
  Rules rules = usual_rules();
  rules.naive = true;
  Harness<ReplicatedData> harness(rules);
  harness.order(Command::ask(kWish));
  harness.elect(kSelf);
  harness.said();
  harness.receive(kSelf, yes(kMine));
  harness.pass(3 * kBound);
  const auto said = harness.said();
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].kind, Word::Kind::write);
  harness.receive(kSelf, said[0]);
  EXPECT_EQ(harness.duty().known(), (Copy{.version = 1, .value = kWish}));
}

// Processes 0 and 1 have founded the group; 2 wants to join.
constexpr Copy kFounders{.version = 0, .value = 0b011};

TEST(GroupJoining, AMemberSaysYesOrNo) {
  Harness<GroupJoining> harness;
  harness.receive(kOther, propose({.number = 1, .node = kOther}, kFounders));
  harness.order(Command::distrust(kOther));
  harness.receive(kOther, propose({.number = 2, .node = kOther}, kFounders));
  const auto said = harness.said();
  ASSERT_THAT(said, SizeIs(2));
  EXPECT_TRUE(said[0].yes);
  EXPECT_FALSE(said[1].yes);
}

TEST(GroupJoining, OnlyMembersCount) {
  Harness<GroupJoining> harness;
  const Ballot joiner{.number = 1, .node = kOther};
  harness.receive(kOther, write(joiner, 0b111, kFounders));
  harness.receive(kOther, ack(joiner, 0b111, kFounders));
  harness.receive(kSelf, ack(joiner, 0b111, kFounders));
  EXPECT_EQ(harness.duty().known(), kFounders) << "one of two members, and one outside";
  harness.receive(NodeId{0}, ack(joiner, 0b111, kFounders));
  EXPECT_EQ(harness.duty().known(), (Copy{.version = 1, .value = 0b111}));
}

TEST(GroupJoining, WhoIsOutsideProposesItself) {
  Rules rules = usual_rules();
  rules.founders = 1;  // 0 alone; we are outside
  Harness<GroupJoining> harness(rules);
  harness.order(Command::ask(1));
  harness.elect(kSelf);
  const auto asked = harness.said();
  ASSERT_THAT(asked, SizeIs(1));
  harness.receive(kSelf, asked[0]);
  EXPECT_THAT(harness.said(), IsEmpty()) << "it has no vote";
  harness.receive(NodeId{0}, yes(kMine, {.version = 0, .value = 0b001}));
  const auto said = harness.said();
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_EQ(said[0].proposed.value, 0b011U);
}

TEST(Majority, ListsEveryField) {
  Harness<GroupJoining> harness;
  harness.order(Command::distrust(kOther));
  harness.order(Command::ask(1));
  harness.elect(kSelf);
  harness.receive(kSelf, yes(kMine, kFounders));
  harness.receive(kSelf, write(kMine, 7, kFounders));
  harness.receive(kSelf, ack(kMine, 7, kFounders));
  EXPECT_THAT(unnoticed_writes(harness.duty(), harness.now()), IsEmpty());
  EXPECT_EQ(unlisted_bytes(harness.duty()), sizeof(void*)) << "the rules alone";
}

}  // namespace
}  // namespace tempo::apps
