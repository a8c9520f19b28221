#include "protocol/auth/replay_window.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace tempo::auth {
namespace {

TEST(ReplayWindow, AcceptsEachNumberOnce) {
  ReplayWindow window;
  for (std::uint64_t number = 1; number <= 1000; ++number) EXPECT_TRUE(window.fresh(number));
  for (std::uint64_t number = 1; number <= 1000; ++number) EXPECT_FALSE(window.fresh(number));
}

TEST(ReplayWindow, RefusesNumberZero) {
  ReplayWindow window;
  EXPECT_FALSE(window.fresh(0));
  EXPECT_TRUE(window.fresh(1));
  EXPECT_FALSE(window.fresh(0));
}

TEST(ReplayWindow, AcceptsLateNumbersWithinTheWindow) {
  ReplayWindow window;
  EXPECT_TRUE(window.fresh(1000));
  EXPECT_TRUE(window.fresh(1000 - ReplayWindow::kWidth + 1));
  EXPECT_FALSE(window.fresh(1000 - ReplayWindow::kWidth + 1));
  EXPECT_FALSE(window.fresh(1000 - ReplayWindow::kWidth)) << "below the window";
  EXPECT_TRUE(window.fresh(999));
}

TEST(ReplayWindow, ClearsTheBitsOfSkippedNumbers) {
  ReplayWindow window;
  EXPECT_TRUE(window.fresh(5));
  EXPECT_TRUE(window.fresh(5 + ReplayWindow::kWidth + 3));
  EXPECT_TRUE(window.fresh(5 + ReplayWindow::kWidth)) << "uses the bit of 5";
  EXPECT_TRUE(window.fresh(5 + 10 * ReplayWindow::kWidth));
  EXPECT_TRUE(window.fresh(3 + 10 * ReplayWindow::kWidth));
  EXPECT_TRUE(window.fresh(3 + 11 * ReplayWindow::kWidth + 1)) << "a jump within the window";
  EXPECT_TRUE(window.fresh(3 + 11 * ReplayWindow::kWidth));
}

TEST(ReplayWindow, HandlesTheHighestNumber) {
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  ReplayWindow window;
  EXPECT_TRUE(window.fresh(kLast));
  EXPECT_FALSE(window.fresh(kLast));
  EXPECT_TRUE(window.fresh(kLast - 1));
  EXPECT_FALSE(window.fresh(1));
}

}  // namespace
}  // namespace tempo::auth
