#include "protocol/classic/numbers.h"

#include <gtest/gtest.h>

namespace tempo::classic {
namespace {

using wire::tsp::Type;

TEST(IncomingNumbers, KnowADuplicateByTypeAndNumber) {
  IncomingNumbers numbers;
  const auto first = numbers.number(Instant{1s}, Type::adjtime, 7, 30s);
  EXPECT_TRUE(first.fresh);
  const auto again = numbers.number(Instant{2s}, Type::adjtime, 7, 30s);
  EXPECT_FALSE(again.fresh);
  EXPECT_EQ(again.sequence, first.sequence);
  const auto other = numbers.number(Instant{2s}, Type::quit, 7, 30s);
  EXPECT_TRUE(other.fresh);
  EXPECT_GT(other.sequence, first.sequence);
}

// The daemons of 4.3BSD send Election with an uninitialised number, often the same.
TEST(IncomingNumbers, TakeAnOldNumberAsANewMessage) {
  IncomingNumbers numbers;
  const auto first = numbers.number(Instant{1s}, Type::election, 0, 30s);
  EXPECT_FALSE(numbers.number(Instant{31s}, Type::election, 0, 30s).fresh);
  const auto later = numbers.number(Instant{31s + 1ns}, Type::election, 0, 30s);
  EXPECT_TRUE(later.fresh);
  EXPECT_GT(later.sequence, first.sequence);
}

TEST(IncomingNumbers, RememberTheLastSixteen) {
  IncomingNumbers numbers;
  for (std::uint16_t i = 0; i < 17; ++i)
    EXPECT_TRUE(numbers.number(Instant{1s}, Type::quit, i, 30s).fresh);
  EXPECT_FALSE(numbers.number(Instant{1s}, Type::quit, 1, 30s).fresh);
  EXPECT_TRUE(numbers.number(Instant{1s}, Type::quit, 0, 30s).fresh) << "forgotten";
}

TEST(OutgoingNumbers, CountFromTheirBaseAndWrap) {
  OutgoingNumbers numbers(65534);
  EXPECT_EQ(numbers.on_wire(Sequence{1}), 65535);
  EXPECT_EQ(numbers.on_wire(Sequence{2}), 0);
  EXPECT_EQ(numbers.on_wire(Sequence{3}), 1);
  EXPECT_EQ(numbers.sent(65535), Sequence{1});
  EXPECT_EQ(numbers.sent(1), Sequence{3});
  EXPECT_EQ(numbers.on_wire(Sequence{1}), 65535) << "a retransmission";
  EXPECT_EQ(numbers.sent(1), Sequence{3});
}

// Numbers that were never sent acknowledge nothing.
TEST(OutgoingNumbers, RefuseNumbersThatWereNotSent) {
  OutgoingNumbers numbers(100);
  EXPECT_EQ(numbers.sent(100), kNoSequence);
  EXPECT_EQ(numbers.sent(101), kNoSequence);
  (void)numbers.on_wire(Sequence{2});
  EXPECT_EQ(numbers.sent(100), kNoSequence);
  EXPECT_EQ(numbers.sent(101), Sequence{1});
  EXPECT_EQ(numbers.sent(103), kNoSequence);
}

}  // namespace
}  // namespace tempo::classic
