// The check of histories accepts correct histories and finds every kind of violation.
#include "history.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tempo::faults {
namespace {

using lock::Mode;
using Kind = Violation::Kind;

Hold hold(std::uint32_t client, Mode mode, std::uint64_t token, int entered, int left,
          std::uint32_t lock = 0) {
  return {.client = client,
          .lock = lock,
          .mode = mode,
          .token = lock::Token{token},
          .entered = BootTime{Nanos{entered}},
          .left = BootTime{Nanos{left}}};
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
  for (const Violation& violation : find_violations(history)) kinds.push_back(violation.kind);
  return kinds;
}

TEST(History, AcceptsCorrectHistory) {
  EXPECT_TRUE(find_violations({}).empty());
  EXPECT_TRUE(find_violations(good()).empty());
}

TEST(History, AcceptsHoldsInAnyOrder) {
  std::vector<Hold> history = good();
  std::ranges::reverse(history);
  EXPECT_TRUE(find_violations(history).empty());
}

TEST(History, FindsTwoWriters) {
  std::vector<Hold> history = good();
  history[0].left += Nanos{1};
  EXPECT_EQ(kinds(history), std::vector{Kind::two_exclusive});
}

TEST(History, FindsWriterInsideAnother) {
  std::vector<Hold> history = good();
  history.push_back(writer(2, 23, 750, 760));
  EXPECT_EQ(kinds(history), std::vector{Kind::two_exclusive});
}

// The conflicting hold need not be the one that began last.
TEST(History, FindsReaderThatOutlastsLaterReaders) {
  std::vector<Hold> history = good();
  history[2].left = BootTime{Nanos{511}};
  EXPECT_EQ(kinds(history), std::vector{Kind::reader_and_writer});
}

TEST(History, FindsReaderThatOverlapsWriter) {
  std::vector<Hold> history = good();
  history.push_back(reader(2, 23, 899, 950));
  EXPECT_EQ(kinds(history), std::vector{Kind::reader_and_writer});
}

TEST(History, FindsRepeatedToken) {
  std::vector<Hold> history = good();
  history[1].token = history[0].token;
  EXPECT_EQ(kinds(history), std::vector{Kind::token_disorder});
}

TEST(History, FindsDecreasingToken) {
  std::vector<Hold> history = good();
  std::swap(history[0].token, history[1].token);
  EXPECT_EQ(kinds(history), std::vector{Kind::token_disorder});
}

TEST(History, FindsReaderTokenBelowEarlierWriter) {
  std::vector<Hold> history = good();
  history[3].token = lock::Token{11};
  EXPECT_EQ(kinds(history), std::vector{Kind::token_disorder});
}

TEST(History, FindsWriterTokenBelowEarlierReader) {
  std::vector<Hold> history = good();
  history[5].token = lock::Token{13};
  EXPECT_EQ(kinds(history), std::vector{Kind::token_disorder});
}

TEST(History, FindsHoldThatEndsBeforeItBegins) {
  std::vector<Hold> history = good();
  history.push_back(writer(2, 23, 950, 949));
  EXPECT_EQ(kinds(history), std::vector{Kind::backwards});
}

TEST(History, ChecksLocksSeparately) {
  std::vector<Hold> history = good();
  history.push_back(hold(4, Mode::exclusive, 1, 100, 900, 1));
  EXPECT_TRUE(find_violations(history).empty());
}

TEST(History, DescribesViolation) {
  const auto violations =
      find_violations({writer(0, 5, 1'000'000, 3'000'000), reader(7, 6, 2'000'000, 4'000'000)});
  ASSERT_EQ(violations.size(), 1);
  EXPECT_EQ(text_of(violations[0]),
            "reader and writer overlap: client 0 wrote under lock 0 from 1ms to 3ms with token 5; "
            "client 7 read under lock 0 from 2ms to 4ms with token 6");
}

// A history is rejected exactly if a comparison of all pairs finds two conflicting holds that
// overlap or whose tokens are out of order.
RC_GTEST_PROP(HistoryProperty, AgreesWithComparingAllPairs, ()) {
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
  bool correct = true;
  for (const Hold& one : history)
    for (const Hold& other : history) {
      if (one.client >= other.client || !conflict(one.mode, other.mode)) continue;
      const bool before = one.left <= other.entered;
      const bool after = other.left <= one.entered;
      // Of two holds that share one instant and nothing else, either may have been first.
      correct &= (before && one.token < other.token) || (after && other.token < one.token);
    }
  const bool passed = find_violations(history).empty();
  RC_CLASSIFY(correct);
  RC_ASSERT(passed == correct);
}

}  // namespace
}  // namespace tempo::faults
