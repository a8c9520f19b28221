// Readers against a writer without pauses, and against writers killed in the middle of a write.
#include "api/page.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tempo::page {
namespace {

// All words are from one number, so that a mixture of two is detected.
Content numbered(std::int64_t i) {
  const auto rate = static_cast<double>(i);
  return {.raw = Instant{Nanos{i}},
          .boot = Nanos{i},
          .real = Nanos{i},
          .time = {.shows = WallTime{Nanos{i}}, .rate = rate},
          .earliest = {.shows = WallTime{Nanos{i}}, .rate = rate},
          .latest = {.shows = WallTime{Nanos{i}}, .rate = rate},
          .held_wander = rate,
          .fresh = Nanos{i},
          .lasts = Nanos{i},
          .status = static_cast<Status>(i % 4),
          .main_until = Instant{Nanos{i + 1}},
          .generation = static_cast<std::uint32_t>(i)};
}

// The number, or -1 for a mixture.
std::int64_t number_of(const Content& content) {
  const Nanos i = content.boot;
  const auto rate = static_cast<double>(i.count());
  const auto is = [&](const ClockLine& line) {
    return line.shows.time_since_epoch() == i && line.rate == rate;
  };
  const bool whole = content.raw.time_since_epoch() == i && is(content.time) &&
                     is(content.earliest) && is(content.latest) && content.held_wander == rate &&
                     content.fresh == i && content.lasts == i && content.real == i &&
                     content.status == static_cast<Status>(i.count() % 4) &&
                     content.main_until == Instant{i + 1ns} &&
                     content.generation == static_cast<std::uint32_t>(i.count());
  return whole ? i.count() : -1;
}

TEST(Page, ReturnsTheLastWrite) {
  const auto page = std::make_unique<Page>();
  for (const std::int64_t i : {1, 2, 3, 1000}) {
    write(*page, numbered(i));
    const auto loaded = load(*page);
    ASSERT_TRUE(loaded);
    EXPECT_EQ(number_of(loaded->content), i);
  }
}

// A page of an earlier tempod has no words for these: it is valid without a limit.
TEST(Page, HasNoLimitWithoutTheWords) {
  const auto page = std::make_unique<Page>();
  Content content = numbered(1);
  content.main_until = kNever;
  content.generation = 0;
  write(*page, content);
  EXPECT_EQ(page->even[13].load(), 0U);
  EXPECT_EQ(page->even[14].load(), 0U);
  EXPECT_EQ(load(*page)->content.main_until, Instant{kNever});
}

TEST(Page, ReadersSeeNoMixtureAndNeverGoBack) {
  const auto page = std::make_unique<Page>();
  write(*page, numbered(1));
  std::atomic<bool> stop{false};
  std::atomic<int> ready{0};
  constexpr int kReaders = 2;
  constexpr std::int64_t kWrites = 100'000;
  struct Seen {
    std::int64_t mixtures = 0, backwards = 0, whole = 0, last = 0;
  };
  std::vector<Seen> seen(kReaders);
  std::vector<std::thread> readers;
  for (Seen& mine : seen)
    readers.emplace_back([&] {
      ++ready;
      do {
        const auto loaded = load(*page);
        if (!loaded) continue;
        const std::int64_t number = number_of(loaded->content);
        if (number < 0)
          ++mine.mixtures;
        else if (number < mine.last)
          ++mine.backwards;
        else
          mine.last = number;
        ++mine.whole;
      } while (!stop);
    });
  while (ready < kReaders) std::this_thread::yield();
  for (std::int64_t i = 2; i <= kWrites; ++i) write(*page, numbered(i));
  stop = true;
  for (std::thread& reader : readers) reader.join();
  for (const Seen& mine : seen) {
    EXPECT_EQ(mine.mixtures, 0);
    EXPECT_EQ(mine.backwards, 0);
    EXPECT_GT(mine.whole, 0);
  }
  EXPECT_EQ(number_of(load(*page)->content), kWrites);
}

// A writer is killed after a number of words of its write: readers use a whole copy, also during
// the first write of the next writer.
class Killed : public ::testing::TestWithParam<int> {};

void write_words(Page::Copy& copy, const Page::Copy& from, int count) {
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    copy[at].store(from[at].load());
  }
}

TEST_P(Killed, WriterLeavesAWholeCopy) {
  constexpr auto kWords = static_cast<int>(Page::kWords);
  const auto page = std::make_unique<Page>();
  const auto intended = std::make_unique<Page>();
  write(*page, numbered(1));
  write(*intended, numbered(2));
  // The steps of `write` up to the kill.
  const int words = GetParam();
  page->sequence = page->sequence | 1;
  write_words(page->even, intended->even, std::min(words, kWords));
  if (words > kWords) {
    ++page->sequence;
    write_words(page->odd, intended->odd, words - kWords);
  }
  const std::int64_t left = words > kWords ? 2 : 1;
  EXPECT_EQ(number_of(load(*page)->content), left);
  take_over(*page);
  EXPECT_EQ(number_of(load(*page)->content), left);
  // The next writer, killed after its first word: still whole.
  page->sequence = page->sequence | 1;
  page->even[0] = 77;
  EXPECT_EQ(number_of(load(*page)->content), left);
  take_over(*page);
  write(*page, numbered(3));
  EXPECT_EQ(number_of(load(*page)->content), 3);
}

INSTANTIATE_TEST_SUITE_P(Page, Killed, ::testing::Values(0, 1, 5, 13, 14, 20, 26));

}  // namespace
}  // namespace tempo::page
