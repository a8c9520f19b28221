#include "lab/report/progress.h"

#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tempo::report {
namespace {

class ProgressTest : public ::testing::Test {
 protected:
  Terminal terminal(bool unicode = false, std::size_t width = 120) {
    return {.present = true,
            .unicode = unicode,
            .width = width,
            .write = [this](std::string_view text) { written.emplace_back(text); }};
  }
  Progress::Clock clock() {
    return [this] { return now; };
  }

  Instant now{5s};
  std::vector<std::string> written;
};

TEST_F(ProgressTest, ShowsTaskShareRateAndTimeLeft) {
  Progress progress({.what = "sweep", .total = 10'000, .unit = "seeds"}, clock(), terminal());
  progress.add(2'500);
  now += 2s;
  progress.draw();
  ASSERT_EQ(written.size(), 1U);
  EXPECT_EQ(written[0],
            "\r\x1b[Ksweep  [#####...............]  25%  2,500/10,000 seeds  1,250/s  6s left");
}

TEST_F(ProgressTest, DrawsBlocksInUnicode) {
  Progress progress({.what = "sweep", .total = 4}, clock(), terminal(true));
  progress.add(3);
  EXPECT_EQ(progress.line(60s, 200), "sweep  ███████████████░░░░░  75%  3/4  0.1/s  20s left");
}

TEST_F(ProgressTest, HasNoBarWithoutATotal) {
  Progress progress({.what = "states", .unit = "states"}, clock(), terminal());
  progress.add(1'500'000);
  EXPECT_EQ(progress.line(1s, 200), "states  1,500,000 states  1,500,000/s");
}

TEST_F(ProgressTest, ShowsLongWaitsInMinutesAndHours) {
  Progress progress({.what = "w", .total = 1'000'001}, clock(), terminal());
  progress.add(1);
  EXPECT_TRUE(progress.line(1ms, 200).ends_with("16m 40s left")) << progress.line(1ms, 200);
  EXPECT_TRUE(progress.line(10ms, 200).ends_with("2h 46m left")) << progress.line(10ms, 200);
}

// Nine tenths were done before; the estimate for the rest uses only the work of this run.
TEST_F(ProgressTest, ExcludesEarlierWorkFromTheRate) {
  Progress progress({.what = "w", .total = 1'000}, clock(), terminal());
  progress.keep(900);
  EXPECT_EQ(progress.line(1s, 200), "w  [##################..]  90%  900/1,000");
  progress.add(10);
  EXPECT_EQ(progress.line(10s, 200),
            "w  [##################..]  91%  910/1,000  1.0/s  1m 30s left");
}

TEST_F(ProgressTest, KeepsAFullBarBeyondTheTotal) {
  Progress progress({.what = "w", .total = 2}, clock(), terminal());
  progress.add(5);
  EXPECT_EQ(progress.line(1s, 200), "w  [####################] 100%  5/2  5.0/s");
}

TEST_F(ProgressTest, RedrawsAtMostOncePerPeriod) {
  Progress progress({.what = "w", .total = 10, .redraw_every = 100ms}, clock(), terminal());
  progress.draw();  // too early
  EXPECT_EQ(written.size(), 0U);
  for (int i = 0; i < 1000; ++i) {
    now += 1ms;
    progress.draw();
  }
  EXPECT_EQ(written.size(), 10U);
}

TEST_F(ProgressTest, CutsTheLineToTheWidth) {
  Progress progress({.what = "a long description of the work", .total = 10}, clock(),
                    terminal(false, 20));
  now += 1s;
  progress.draw();
  ASSERT_EQ(written.size(), 1U);
  EXPECT_EQ(written[0], "\r\x1b[Ka long description~");
}

TEST_F(ProgressTest, ClearsTheLineOnceAtTheEnd) {
  {
    Progress progress({.what = "w", .total = 10}, clock(), terminal());
    now += 1s;
    progress.draw();
    progress.finish();
    EXPECT_EQ(written.back(), "\r\x1b[K");
    now += 1s;
    progress.draw();  // no effect after the end
  }
  EXPECT_EQ(written.size(), 2U);
}

TEST_F(ProgressTest, DoesNotClearALineThatWasNeverDrawn) {
  {
    Progress progress({.what = "w", .total = 10}, clock(), terminal());
  }
  EXPECT_TRUE(written.empty());
}

TEST_F(ProgressTest, WritesNothingWithoutATerminal) {
  Terminal none = terminal();
  none.present = false;
  Progress progress({.what = "w", .total = 10}, clock(), none);
  now += 1s;
  progress.draw();
  progress.finish();
  EXPECT_TRUE(written.empty());
}

TEST_F(ProgressTest, WritesFewLinesIfTheTerminalCannotRedraw) {
  Terminal lines = terminal();
  lines.redraws = false;
  {
    Progress progress({.what = "sweep", .total = 20, .unit = "cells", .redraw_every = 3s}, clock(),
                      lines);
    progress.keep(4);
    for (int i = 0; i < 7; ++i) {
      now += 1s;
      progress.add();
      progress.draw();
    }
  }
  EXPECT_EQ(written, (std::vector<std::string>{
                         "sweep  35%  7/20 cells  1.0/s  13s left\n",
                         "sweep  50%  10/20 cells  1.0/s  10s left\n",
                         "sweep  55%  11/20 cells  1.0/s  9s left\n",
                     }));
}

TEST_F(ProgressTest, AcceptsWorkFromAnyThread) {
  Progress progress({.what = "w"}, clock(), terminal());
  static constexpr int kThreads = 4;
  static constexpr int kAdds = 200'000;
  std::latch together(kThreads);
  {
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&] {
        together.arrive_and_wait();
        for (int j = 0; j < kAdds; ++j) progress.add();
      });
  }
  EXPECT_EQ(progress.done(), std::uint64_t{kThreads} * kAdds);
}

}  // namespace
}  // namespace tempo::report
