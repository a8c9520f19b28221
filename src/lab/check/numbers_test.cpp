#include "lab/check/numbers.h"

#include <gtest/gtest.h>

#include "machine/courier.h"

namespace tempo::check {
namespace {

constexpr NodeId kAnn{0};
constexpr NodeId kBob{1};
constexpr NodeId kCleo{2};

TEST(Numbers, NamesCallsFirstThenReceiverByReceiver) {
  Numbers numbers;
  numbers.call(kAnn, 9);
  numbers.message(kAnn, kCleo, 4);
  numbers.message(kAnn, kBob, 7);
  numbers.message(kAnn, kBob, 3);
  EXPECT_EQ(numbers.call_name(kAnn, 9), 1U);
  EXPECT_EQ(numbers.message_name(kAnn, kBob, 3), 2U);
  EXPECT_EQ(numbers.message_name(kAnn, kBob, 7), 3U);
  EXPECT_EQ(numbers.message_name(kAnn, kCleo, 4), 4U);
  EXPECT_EQ(numbers.last_name(kAnn), 4U);
  EXPECT_EQ(numbers.last_name(kBob), 0U);
}

TEST(Numbers, NameOtherNumbersLikeTheNextLower) {
  Numbers numbers;
  numbers.message(kAnn, kBob, 5);
  EXPECT_EQ(numbers.message_name(kAnn, kBob, 4), 0U);
  EXPECT_EQ(numbers.message_name(kAnn, kBob, 6), 1U);
}

TEST(Numbers, RoundsKeepTheirDifferences) {
  Numbers numbers;
  EXPECT_EQ(numbers.shift(), 0U);
  numbers.round(7);
  numbers.round(9);
  EXPECT_EQ(numbers.shift(), 6U);
  numbers.round(0);  // a node has seen no round: the next round is 1, so nothing is subtracted
  EXPECT_EQ(numbers.shift(), 0U);
}

TEST(Numbers, ReportTooManyNumbers) {
  Numbers numbers;
  numbers.call(kAnn, 31);
  EXPECT_FALSE(numbers.too_many);
  numbers.call(kAnn, 32);
  EXPECT_TRUE(numbers.too_many);
}

struct Note {
  Sequence sequence{};
  static constexpr auto fields(auto list) { return list(field<&Note::sequence>("sequence")); }
};

// Bob has received 3 and 5 from Ann but not 4; 4 and 5 are live. After the renaming he still has
// received the second and not the first, and her next number is new to him.
TEST(NumberWriter, KeepsReceivedNumbers) {
  Courier<Note> bob;
  const Incarnation incarnation{1};
  EXPECT_TRUE(bob.fresh(kAnn, incarnation, Sequence{3}));
  EXPECT_TRUE(bob.fresh(kAnn, incarnation, Sequence{5}));
  EXPECT_TRUE(bob.newer_call(kAnn, incarnation, Sequence{2}));
  Numbers all;
  all.message(kAnn, kBob, 4);
  all.message(kAnn, kBob, 5);
  NumberWriter writer{kBob, kNobody, all};
  visit_fields(bob, writer);
  EXPECT_TRUE(bob.fresh(kAnn, incarnation, Sequence{1}));   // was 4
  EXPECT_FALSE(bob.fresh(kAnn, incarnation, Sequence{2}));  // was 5
  EXPECT_TRUE(bob.fresh(kAnn, incarnation, Sequence{3}));
  EXPECT_TRUE(bob.newer_call(kAnn, incarnation, Sequence{1}));
}

TEST(NumberWriter, RenamesUnacknowledgedMessages) {
  Courier<Note> ann;
  const Courier<Note>::Options options{.interval = 1s, .sends = 2};
  for (const NodeId to : {kCleo, kBob})
    ann.post(Instant{}, to, {.sequence = ann.next_sequence()}, options);
  Numbers all;
  NumberReader reader{kAnn, kNobody, all};
  visit_fields(std::as_const(ann), reader);
  NumberWriter writer{kAnn, kNobody, all};
  visit_fields(ann, writer);
  EXPECT_EQ(ann.acknowledge(kBob, Sequence{2}), nullptr);
  EXPECT_NE(ann.acknowledge(kBob, Sequence{1}), nullptr);
  EXPECT_NE(ann.acknowledge(kCleo, Sequence{2}), nullptr);
}

}  // namespace
}  // namespace tempo::check
