// libtempo's time, read from a page that the test writes.
#include "tempo/time.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/page_file.h"
#include "tempo/time_c.h"

namespace tempo {
namespace {

using ::testing::HasSubstr;

class TimePageTest : public ::testing::Test {
 protected:
  TimePageTest() {
    char name[] = "/tmp/tempo_time_test_XXXXXX";
    directory_ = ::mkdtemp(name);
    path_ = directory_ / "tempod.page";
    writer_ = std::make_unique<page::Writer>(*page::Writer::open(path_));
  }
  ~TimePageTest() override { std::filesystem::remove_all(directory_); }

  // Publishes `shows` plus or minus `error` as the network time of now.
  void publish(WallTime shows, Nanos error, page::Status status = page::Status::synchronized) {
    const page::Moment moment = page::read_moment_closely();
    writer_->write({.raw = moment.raw,
                    .boot = moment.boot,
                    .real = moment.real,
                    .time = {.shows = shows},
                    .earliest = {.shows = shows - error},
                    .latest = {.shows = shows + error},
                    .held_wander = 0,
                    .fresh = 1h,
                    .lasts = 2h,
                    .status = status});
  }
  TimePage open() const {
    auto page = TimePage::open(path_);
    if (!page) ADD_FAILURE() << page.error().message;
    return *std::move(page);
  }

  std::filesystem::path directory_, path_;
  std::unique_ptr<page::Writer> writer_;
};

constexpr NetworkTime at(Nanos span) { return NetworkTime{span}; }

TEST_F(TimePageTest, ReturnsEarliestAndLatest) {
  publish(WallTime{1000s}, 5ms);
  const TimePage page = open();
  const Now now = page.now();
  EXPECT_EQ(now.status, TimeStatus::synchronized);
  EXPECT_GE(now.earliest, at(1000s - 5ms - 1ns));
  EXPECT_EQ(now.latest - now.earliest, 10ms + 2ns);
  EXPECT_EQ(now.time - now.earliest, 5ms + 1ns);
  publish(WallTime{1000s}, 5ms, page::Status::leads);
  EXPECT_EQ(page.now().status, TimeStatus::leads);
}

TEST_F(TimePageTest, ReportsUnknownTime) {
  publish(WallTime{1000s}, 5ms, page::Status::unsynchronized);
  const Now now = open().now();
  EXPECT_EQ(now.status, TimeStatus::unsynchronized);
  EXPECT_EQ(now.earliest, NetworkTime::min());
  EXPECT_EQ(now.latest, NetworkTime::max());
}

TEST_F(TimePageTest, ReportsAMissingPage) {
  const auto page = TimePage::open(directory_ / "none.page");
  ASSERT_FALSE(page);
  EXPECT_THAT(page.error().message, HasSubstr("start tempod"));
}

TEST_F(TimePageTest, WaitsUntilAnInstantHasCertainlyPassed) {
  publish(WallTime{1000s}, 5ms);
  const TimePage page = open();
  const NetworkTime stamp = page.now().latest;
  ASSERT_TRUE(page.wait_until_after(stamp, 1h));
  EXPECT_GT(page.now().earliest, stamp);
  EXPECT_TRUE(page.wait_until_after(at(1s), 0ns));  // long past: no wait
}

TEST_F(TimePageTest, LimitsTheWait) {
  publish(WallTime{1000s}, 5ms);
  const TimePage page = open();
  EXPECT_FALSE(page.wait_until_after(NetworkTime::max(), 1ms));
  publish(WallTime{1000s}, 5ms, page::Status::unsynchronized);
  EXPECT_FALSE(page.wait_until_after(at(1s), 1ms));
}

TEST_F(TimePageTest, TimestampsAreNotBeforeTheLatest) {
  publish(WallTime{1000s}, 5ms);
  const TimePage page = open();
  Timestamps stamps(page);
  const auto first = stamps.next();
  ASSERT_TRUE(first);
  EXPECT_GE(*first, at(1000s + 5ms));
  EXPECT_LE(*first, page.now().latest);
}

// An operator sets the time back: the timestamps continue from the last one.
TEST_F(TimePageTest, TimestampsNeverGoBack) {
  publish(WallTime{1000s}, 5ms);
  const TimePage page = open();
  Timestamps stamps(page);
  const auto first = stamps.next();
  publish(WallTime{500s}, 5ms);
  ASSERT_TRUE(first);
  EXPECT_EQ(stamps.next(), *first + 1ns);
  EXPECT_EQ(stamps.next(), *first + 2ns);
  publish(WallTime{500s}, 5ms, page::Status::unsynchronized);
  EXPECT_EQ(stamps.next(), std::nullopt);
  publish(WallTime{500s}, 5ms);
  EXPECT_EQ(stamps.next(), *first + 3ns);
}

TEST_F(TimePageTest, TimestampsOfManyThreadsDoNotRepeat) {
  publish(WallTime{1000s}, 5ms);
  const TimePage page = open();
  Timestamps stamps(page);
  constexpr int kThreads = 4;
  constexpr int kEach = 5000;
  std::vector<std::vector<NetworkTime>> taken(kThreads);
  std::vector<std::thread> threads;
  for (auto& mine : taken)
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i)
        if (const auto stamp = stamps.next()) mine.push_back(*stamp);
    });
  for (std::thread& thread : threads) thread.join();
  std::vector<NetworkTime> all;
  for (const auto& mine : taken) {
    EXPECT_TRUE(std::ranges::is_sorted(mine));
    all.insert(all.end(), mine.begin(), mine.end());
  }
  EXPECT_EQ(all.size(), static_cast<std::size_t>(kThreads) * kEach);
  std::ranges::sort(all);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
}

// One source commits and waits; another source returns larger timestamps afterwards.
TEST_F(TimePageTest, CommitWaitOrdersSourcesOfDifferentClocks) {
  publish(WallTime{1000s}, 2ms);
  const TimePage page = open();
  Timestamps here(page);
  const auto committed = here.next();
  ASSERT_TRUE(committed);
  ASSERT_TRUE(page.wait_until_after(*committed, 1h));
  // Another host: its own clock is 1.9 ms behind, which its bound allows for.
  const Now truth = page.now();
  publish(WallTime{truth.time.time_since_epoch() - 1900us}, 2ms);
  const TimePage other = open();
  Timestamps there(other);
  const auto later = there.next();
  ASSERT_TRUE(later);
  EXPECT_GT(*later, *committed);
}

TEST_F(TimePageTest, ReadsTheSameInC) {
  publish(WallTime{1000s}, 5ms);
  tempo_time_page* page = tempo_time_page_open(path_.c_str(), nullptr, nullptr, 0);
  ASSERT_NE(page, nullptr);
  const tempo_now now = tempo_time_page_now(page);
  EXPECT_EQ(now.status, TEMPO_TIME_SYNCHRONIZED);
  EXPECT_EQ(now.latest_ns - now.earliest_ns, 10'000'002);
  const std::int64_t stamp = tempo_time_page_timestamp(page);
  EXPECT_GE(stamp, now.latest_ns);
  EXPECT_GT(tempo_time_page_timestamp(page), stamp);
  EXPECT_EQ(tempo_time_page_wait_until_after(page, stamp, 60'000'000'000, -1), 1);
  EXPECT_EQ(tempo_time_page_wait_until_after(page, INT64_MAX, 1000, -1), 0);
  tempo_time_page_close(page);

  char message[12];
  EXPECT_EQ(tempo_time_page_open("/nonexistent", nullptr, message, sizeof message), nullptr);
  EXPECT_STREQ(message, "no time pag");
}

}  // namespace
}  // namespace tempo
