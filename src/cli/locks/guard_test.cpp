#include "cli/locks/guard.h"

#include <chrono>
#include <filesystem>
#include <string>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "client/boot_clock.h"

namespace tempo::cli {
namespace {

using namespace std::chrono_literals;

class GuardTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "tempo-guard-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  // The end of a command that creates `mark`, started with this deadline. The guard gets a later
  // deadline at once and would let the command run.
  Guard::End run(std::chrono::nanoseconds deadline) const {
    auto guard = Guard::start(
        {.command = {"mkdir", mark()}, .environment = {}, .deadline = deadline, .margin = 5ms});
    EXPECT_TRUE(guard) << guard.error();
    guard->extend(boot_clock() + 1h);
    for (;;) {
      pollfd line{guard->descriptor(), POLLIN, 0};
      poll(&line, 1, -1);
      if (const auto end = guard->ended()) return *end;
    }
  }
  std::string mark() const { return directory_ + "/mark"; }

 private:
  std::string directory_;
};

TEST_F(GuardTest, RunsACommandInTime) {
  const Guard::End end = run(boot_clock() + 1h);
  EXPECT_FALSE(end.stopped);
  EXPECT_EQ(exit_status_of(end), 0);
  EXPECT_TRUE(std::filesystem::exists(mark()));
}

// A process may be suspended after it checked the clock: the last check is in the process that
// would become the command.
TEST_F(GuardTest, DoesNotRunACommandAfterItsDeadline) {
  for (int i = 0; i < 25; ++i) {
    const Guard::End end = run(boot_clock() + 5ms);
    EXPECT_TRUE(end.stopped);
    ASSERT_FALSE(std::filesystem::exists(mark())) << "in trial " << i;
  }
}

TEST_F(GuardTest, ReportsACommandThatCannotBeRun) {
  auto guard = Guard::start({.command = {"/nonexistent/program"},
                             .environment = {},
                             .deadline = boot_clock() + 1h,
                             .margin = 5ms});
  ASSERT_TRUE(guard) << guard.error();
  std::optional<Guard::End> end;
  while (!(end = guard->ended())) {
    pollfd line{guard->descriptor(), POLLIN, 0};
    poll(&line, 1, -1);
  }
  EXPECT_FALSE(end->stopped);
  EXPECT_EQ(exit_status_of(*end), 127);
  EXPECT_EQ(end->error, "cannot run '/nonexistent/program': No such file or directory");
}

TEST(GuardMargin, IsAnEighthOfTheRemainingTimeWithinBounds) {
  EXPECT_EQ(Guard::margin_of(1s), 125ms);
  EXPECT_EQ(Guard::margin_of(1h), 250ms);
  EXPECT_EQ(Guard::margin_of(40ms), 5ms) << "the shortest lease";
  EXPECT_EQ(Guard::margin_of(10ms), 5ms) << "the rest of it after a hand-over";
}

TEST(GuardMargin, IsNoneIfTheLockIsAlmostLost) {
  EXPECT_EQ(Guard::margin_of(5ms), std::nullopt);
  EXPECT_EQ(Guard::margin_of(0ns), std::nullopt);
}

}  // namespace
}  // namespace tempo::cli
