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

  // The end of a command that makes `mark`, with that deadline. The guard, which is told of another
  // one when the command is on its way, would let it run.
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

TEST_F(GuardTest, RunsACommandThatIsInTime) {
  const Guard::End end = run(boot_clock() + 1h);
  EXPECT_FALSE(end.stopped);
  EXPECT_EQ(exit_status_of(end), 0);
  EXPECT_TRUE(std::filesystem::exists(mark()));
}

// Whoever looked at the clock before was stopped since then: the last to look is the one who would
// become the command.
TEST_F(GuardTest, DoesNotRunACommandWhoseTimeHasCome) {
  for (int i = 0; i < 25; ++i) {
    const Guard::End end = run(boot_clock() + 5ms);
    EXPECT_TRUE(end.stopped);
    ASSERT_FALSE(std::filesystem::exists(mark())) << "in trial " << i;
  }
}

TEST(GuardMargin, IsAnEighthOfWhatIsLeftWithinBounds) {
  EXPECT_EQ(Guard::margin_of(1s), 125ms);
  EXPECT_EQ(Guard::margin_of(1h), 250ms);
  EXPECT_EQ(Guard::margin_of(40ms), 5ms) << "the shortest lease";
  EXPECT_EQ(Guard::margin_of(10ms), 5ms) << "what a hand-over leaves of it";
}

TEST(GuardMargin, OfALockThatIsAsGoodAsLostIsNone) {
  EXPECT_EQ(Guard::margin_of(5ms), std::nullopt);
  EXPECT_EQ(Guard::margin_of(0ns), std::nullopt);
}

}  // namespace
}  // namespace tempo::cli
