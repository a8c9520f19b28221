#include "protocol/auth/replay_window.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace tempo::auth {
namespace {

TEST(ReplayWindow, TakesEachNumberOnce) {
  ReplayWindow window;
  for (std::uint64_t number = 1; number <= 1000; ++number) EXPECT_TRUE(window.fresh(number));
  for (std::uint64_t number = 1; number <= 1000; ++number) EXPECT_FALSE(window.fresh(number));
}

TEST(ReplayWindow, TakesNoNumberZero) {
  ReplayWindow window;
  EXPECT_FALSE(window.fresh(0));
  EXPECT_TRUE(window.fresh(1));
  EXPECT_FALSE(window.fresh(0));
}

TEST(ReplayWindow, TakesLateOnesWithinItsWidth) {
  ReplayWindow window;
  EXPECT_TRUE(window.fresh(1000));
  EXPECT_TRUE(window.fresh(1000 - ReplayWindow::kWidth + 1));
  EXPECT_FALSE(window.fresh(1000 - ReplayWindow::kWidth + 1));
  EXPECT_FALSE(window.fresh(1000 - ReplayWindow::kWidth)) << "too far below to be known";
  EXPECT_TRUE(window.fresh(999));
}

TEST(ReplayWindow, ForgetsWhatItJumpsOver) {
  ReplayWindow window;
  EXPECT_TRUE(window.fresh(5));
  EXPECT_TRUE(window.fresh(5 + ReplayWindow::kWidth + 3));
  EXPECT_TRUE(window.fresh(5 + ReplayWindow::kWidth)) << "not 5, whose place it has";
  EXPECT_TRUE(window.fresh(5 + 10 * ReplayWindow::kWidth));
  EXPECT_TRUE(window.fresh(3 + 10 * ReplayWindow::kWidth));
  EXPECT_TRUE(window.fresh(3 + 11 * ReplayWindow::kWidth + 1)) << "a jump within its width";
  EXPECT_TRUE(window.fresh(3 + 11 * ReplayWindow::kWidth));
}

TEST(ReplayWindow, ReachesTheLastNumber) {
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  ReplayWindow window;
  EXPECT_TRUE(window.fresh(kLast));
  EXPECT_FALSE(window.fresh(kLast));
  EXPECT_TRUE(window.fresh(kLast - 1));
  EXPECT_FALSE(window.fresh(1));
}

}  // namespace
}  // namespace tempo::auth
