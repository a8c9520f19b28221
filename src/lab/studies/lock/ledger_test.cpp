#include "lab/studies/lock/ledger.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace tempo::sim::lock {
namespace {

using tempo::lock::Mode;
using tempo::lock::Token;

constexpr Instant kStart{};

// Three clients: 0 and 1 at site 0, 2 at site 1.
Ledger three() { return Ledger(2, {NodeId{0}, NodeId{0}, NodeId{1}}); }

void enter(Ledger& ledger, std::uint32_t client, Mode mode, std::uint64_t token) {
  ledger.asked(client, kStart);
  ledger.entered(client, mode, Token{token}, kStart + 5ms);
}

TEST(Ledger, WriterInsideExcludesAll) {
  for (const Mode second : {Mode::shared, Mode::exclusive}) {
    Ledger ledger = three();
    enter(ledger, 0, Mode::exclusive, 1);
    enter(ledger, 2, second, 2);
    EXPECT_EQ(ledger.tally().violations, 1U);
    EXPECT_EQ(ledger.first_broken(), kStart + 5ms);
  }
}

TEST(Ledger, ReadersMayBeInsideTogether) {
  Ledger ledger = three();
  enter(ledger, 0, Mode::shared, 1);
  enter(ledger, 2, Mode::shared, 2);
  EXPECT_EQ(ledger.tally().violations, 0U);
  EXPECT_EQ(ledger.first_broken(), kNever);
  enter(ledger, 1, Mode::exclusive, 3);
  EXPECT_EQ(ledger.tally().violations, 1U);
}

TEST(Ledger, ClientThatLeftExcludesNobody) {
  Ledger ledger = three();
  enter(ledger, 0, Mode::exclusive, 1);
  ledger.left(0);
  enter(ledger, 2, Mode::exclusive, 2);
  EXPECT_EQ(ledger.tally().violations, 0U);
}

TEST(Ledger, ConflictingGrantsNeedRisingTokens) {
  Ledger ledger = three();
  enter(ledger, 0, Mode::shared, 7);
  enter(ledger, 2, Mode::shared, 5);  // concurrent readers: unordered
  EXPECT_EQ(ledger.tally().token_disorder, 0U);
  ledger.left(0);
  ledger.left(2);
  enter(ledger, 1, Mode::exclusive, 7);  // not above the readers' tokens
  EXPECT_EQ(ledger.tally().token_disorder, 1U);
  ledger.left(1);
  enter(ledger, 0, Mode::shared, 7);  // not above the writer's token
  EXPECT_EQ(ledger.tally().token_disorder, 2U);
  ledger.left(0);
  enter(ledger, 2, Mode::exclusive, 8);
  EXPECT_EQ(ledger.tally().token_disorder, 2U);
}

TEST(Ledger, LocksWithoutTokensHaveNoTokenOrder) {
  Ledger ledger = three();
  for (const std::uint32_t client : {0U, 1U, 0U}) {
    enter(ledger, client, Mode::exclusive, 0);
    ledger.left(client);
  }
  EXPECT_EQ(ledger.tally().token_disorder, 0U);
}

TEST(Ledger, CountsEntriesAndWaits) {
  Ledger ledger = three();
  ledger.asked(0, kStart);
  ledger.asked(1, kStart);
  EXPECT_EQ(ledger.waiting(), 2U);
  ledger.gave_up(1);
  ledger.entered(0, Mode::exclusive, Token{1}, kStart + 3ms);
  EXPECT_EQ(ledger.waiting(), 0U);
  ledger.left(0);
  enter(ledger, 1, Mode::exclusive, 2);
  EXPECT_EQ(ledger.tally().fairness(), 0.0);  // site 1 never entered
  ledger.left(1);
  enter(ledger, 2, Mode::exclusive, 3);
  EXPECT_EQ(ledger.tally().fairness(), 2.0);

  Tally both = ledger.tally();
  both.add(ledger.tally());
  EXPECT_EQ(both.entries, 6U);
  EXPECT_EQ(both.entries_of, (std::vector<std::uint64_t>{4, 2}));
  EXPECT_EQ(both.waits.count(), 6U);
  EXPECT_EQ(both.waits.longest(), 5ms);
  EXPECT_EQ(both.waits.mean(), Nanos{3ms + 5ms + 5ms} / 3);
}

// Compared with a sorted list, for waits of every length.
TEST(Waits, QuantilesAreAccurateToOneSixtyFourth) {
  Stream stream(7, 0, 0);
  Waits waits;
  std::vector<std::int64_t> all;
  for (int i = 0; i < 5000; ++i) {
    const auto wait = static_cast<std::int64_t>(std::exp(stream.unit() * 40));
    all.push_back(wait);
    waits.add(Nanos{wait});
  }
  std::ranges::sort(all);
  for (const double part : {0.01, 0.5, 0.9, 0.99, 1.0}) {
    const auto at = static_cast<std::size_t>(std::ceil(part * 5000)) - 1;
    const auto quantile = waits.quantile(part).count();
    EXPECT_GE(quantile, all[at]) << part;
    EXPECT_LE(static_cast<double>(quantile), static_cast<double>(all[at]) * 65 / 64 + 1) << part;
  }
  EXPECT_EQ(waits.longest().count(), all.back());
}

TEST(Waits, SmallestAndLargestHaveABucket) {
  Waits waits;
  waits.add(Nanos{0});
  EXPECT_EQ(waits.quantile(1), Nanos{0});
  waits.add(Nanos::max());
  EXPECT_EQ(waits.quantile(0.5), Nanos{0});
  EXPECT_EQ(waits.quantile(1), Nanos::max());
}

}  // namespace
}  // namespace tempo::sim::lock
