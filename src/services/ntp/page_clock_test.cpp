// Network time from a page that this test writes.
#include "services/ntp/page_clock.h"

#include <filesystem>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "platform/clocks/oscillator.h"

namespace tempo::ntp {
namespace {

using ::testing::HasSubstr;

class NtpPageClock : public testing::Test {
 protected:
  NtpPageClock() { std::filesystem::remove(path_); }
  ~NtpPageClock() override { std::filesystem::remove(path_); }

  // Network time is an hour ahead of the kernel, within 3 us.
  void write(page::Status status) {
    const page::Moment moment = page::read_moment_closely();
    const WallTime time{moment.real + 1h};
    writer_->write({.raw = moment.raw,
                    .boot = moment.boot,
                    .real = moment.real,
                    .time = {.shows = time},
                    .earliest = {.shows = time - 3us},
                    .latest = {.shows = time + 3us},
                    .held_wander = 10e-6,
                    .fresh = 3s,
                    .lasts = 1h,
                    .status = status});
  }
  void open() {
    auto writer = page::Writer::open(path_);
    ASSERT_TRUE(writer) << writer.error();
    writer_.emplace(*std::move(writer));
  }
  static Nanos ahead(const ServedTime& served) {
    return served.time.time_since_epoch() - sys::read_bracket().real;
  }

  std::string path_ =
      std::filesystem::temp_directory_path() / fmt::format("tempo_ntp_page_{}", ::getpid());
  std::optional<page::Writer> writer_;
};

TEST_F(NtpPageClock, ServesThePageWithItsBound) {
  open();
  write(page::Status::synchronized);
  PageClock clock(path_, 1s);
  const ServedTime served = clock.now();
  EXPECT_TRUE(served.status.claims);
  EXPECT_EQ(served.status.stratum, 10);
  EXPECT_GE(served.bound, 3us);
  EXPECT_LE(std::chrono::abs(ahead(served) - 1h), 100ms);
  EXPECT_LE(served.updated, served.time);
  EXPECT_EQ(clock.error(), "");
}

// The time of the kernel, which claims nothing.
TEST_F(NtpPageClock, ServesTheKernelsTimeBeyondTheLimit) {
  open();
  write(page::Status::leads);
  PageClock clock(path_, 2us);
  const ServedTime served = clock.now();
  EXPECT_FALSE(served.status.claims);
  EXPECT_EQ(served.status.leap, doors::Leap::unsynchronized);
  EXPECT_LE(std::chrono::abs(ahead(served)), 100ms);
}

// The time of the last master stays in the answers.
TEST_F(NtpPageClock, KeepsTheLastUpdateInHoldover) {
  open();
  write(page::Status::synchronized);
  PageClock clock(path_, 1s);
  const WallTime updated = clock.now().updated;
  writer_->orphan();
  const ServedTime held = clock.now();
  EXPECT_EQ(held.status.clockbound, doors::ClockBound::free_running);
  EXPECT_EQ(held.status.leap, doors::Leap::none);
  EXPECT_EQ(held.updated, updated);
}

TEST_F(NtpPageClock, NamesAMissingPage) {
  PageClock clock(path_, 1s);
  EXPECT_FALSE(clock.now().status.claims);
  EXPECT_THAT(clock.error(), HasSubstr("no time page at"));
}

}  // namespace
}  // namespace tempo::ntp
