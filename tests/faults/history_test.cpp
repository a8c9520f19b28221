// The judge of histories: what is right passes, and every way in which it can be made wrong is
// seen.
#include "history.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tempo::faults {
namespace {

using lock::Mode;
using Kind = Breach::Kind;

Hold hold(std::uint32_t client, Mode mode, std::uint64_t token, int entered, int left,
          std::uint32_t lock = 0) {
  return {.client = client,
          .lock = lock,
          .mode = mode,
          .token = lock::Token{token},
          .entered = Instant{Nanos{entered}},
          .left = Instant{Nanos{left}}};
}
Hold writer(std::uint32_t client, std::uint64_t token, int entered, int left) {
  return hold(client, Mode::exclusive, token, entered, left);
}
Hold reader(std::uint32_t client, std::uint64_t token, int entered, int left) {
  return hold(client, Mode::shared, token, entered, left);
}

// Writers, readers together, writers again; the tokens of readers are in no order.
std::vector<Hold> good() {
  return {writer(0, 10, 100, 200), writer(1, 11, 200, 300), reader(2, 13, 300, 500),
          reader(3, 12, 350, 420), reader(0, 14, 410, 510), writer(1, 20, 510, 600),
          reader(2, 21, 600, 600), writer(3, 22, 700, 900)};
}

std::vector<Kind> kinds(const std::vector<Hold>& history) {
  std::vector<Kind> kinds;
  for (const Breach& breach : judge(history)) kinds.push_back(breach.kind);
  return kinds;
}

TEST(Judge, LetsARightHistoryPass) {
  EXPECT_TRUE(judge({}).empty());
  EXPECT_TRUE(judge(good()).empty());
}

TEST(Judge, DoesNotCareForTheOrderOfWriting) {
  std::vector<Hold> history = good();
  std::ranges::reverse(history);
  EXPECT_TRUE(judge(history).empty());
}

TEST(Judge, SeesTwoWriters) {
  std::vector<Hold> history = good();
  history[0].left += Nanos{1};
  EXPECT_EQ(kinds(history), std::vector{Kind::two_exclusive});
}

TEST(Judge, SeesAWriterInsideAnother) {
  std::vector<Hold> history = good();
  history.push_back(writer(2, 23, 750, 760));
  EXPECT_EQ(kinds(history), std::vector{Kind::two_exclusive});
}

// The one that is in the way need not be the one that entered last.
TEST(Judge, SeesAReaderThatStayedBehindOthers) {
  std::vector<Hold> history = good();
  history[2].left = Instant{Nanos{511}};
  EXPECT_EQ(kinds(history), std::vector{Kind::reader_beside});
}

TEST(Judge, SeesAReaderThatEntersBesideAWriter) {
  std::vector<Hold> history = good();
  history.push_back(reader(2, 23, 899, 950));
  EXPECT_EQ(kinds(history), std::vector{Kind::reader_beside});
}

TEST(Judge, SeesATokenGivenTwice) {
  std::vector<Hold> history = good();
  history[1].token = history[0].token;
  EXPECT_EQ(kinds(history), std::vector{Kind::token_disorder});
}

TEST(Judge, SeesATokenThatFalls) {
  std::vector<Hold> history = good();
  std::swap(history[0].token, history[1].token);
  EXPECT_EQ(kinds(history), std::vector{Kind::token_disorder});
}

TEST(Judge, SeesAReadersTokenBelowAnEarlierWriters) {
  std::vector<Hold> history = good();
  history[3].token = lock::Token{11};
  EXPECT_EQ(kinds(history), std::vector{Kind::token_disorder});
}

TEST(Judge, SeesAWritersTokenBelowAnEarlierReaders) {
  std::vector<Hold> history = good();
  history[5].token = lock::Token{13};
  EXPECT_EQ(kinds(history), std::vector{Kind::token_disorder});
}

TEST(Judge, SeesNonsense) {
  std::vector<Hold> history = good();
  history.push_back(writer(2, 23, 950, 949));
  EXPECT_EQ(kinds(history), std::vector{Kind::backwards});
}

TEST(Judge, KeepsLocksApart) {
  std::vector<Hold> history = good();
  history.push_back(hold(4, Mode::exclusive, 1, 100, 900, 1));
  EXPECT_TRUE(judge(history).empty());
}

TEST(Judge, SaysWhoAndWhen) {
  const auto breaches =
      judge({writer(0, 5, 1'000'000, 3'000'000), reader(7, 6, 2'000'000, 4'000'000)});
  ASSERT_EQ(breaches.size(), 1);
  EXPECT_EQ(text_of(breaches[0]),
            "a reader beside a writer: client 0 wrote under lock 0 from 1ms to 3ms with token 5; "
            "client 7 read under lock 0 from 2ms to 4ms with token 6");
}

// Whatever the history: exactly those with a pair in conflict that overlaps or is out of order,
// looked for pair by pair, are refused.
RC_GTEST_PROP(JudgeProperty, AgreesWithLookingAtEveryPair, ()) {
  std::vector<Hold> history;
  int clock = 0;
  std::uint64_t token = 0;
  const int size = *rc::gen::inRange(0, 12);
  for (int i = 0; i < size; ++i) {
    const int entered = clock + *rc::gen::inRange(0, 3);
    const int left = entered + *rc::gen::inRange(0, 4);
    token += *rc::gen::inRange<std::uint64_t>(0, 5) == 0 ? 0U : 1U;
    history.push_back(hold(static_cast<std::uint32_t>(i),
                           *rc::gen::arbitrary<bool>() ? Mode::shared : Mode::exclusive, token,
                           entered, left));
    clock = *rc::gen::inRange(0, 4) == 0 ? entered : left;
  }
  bool right = true;
  for (const Hold& one : history)
    for (const Hold& other : history) {
      if (one.client >= other.client || !conflict(one.mode, other.mode)) continue;
      const bool before = one.left <= other.entered;
      const bool after = other.left <= one.entered;
      // Of two that share one instant and nothing else, either may have been first.
      right &= (before && one.token < other.token) || (after && other.token < one.token);
    }
  const bool passed = judge(history).empty();
  RC_CLASSIFY(right);
  RC_ASSERT(passed == right);
}

}  // namespace
}  // namespace tempo::faults
