#include "cli/locks/guard.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
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

  static Guard started(const std::string& line, std::chrono::nanoseconds lease = 1h,
                       std::chrono::nanoseconds margin = 200ms) {
    auto guard = Guard::start({.command = {"sh", "-c", line},
                               .environment = {},
                               .deadline = boot_clock() + lease,
                               .margin = margin});
    EXPECT_TRUE(guard) << guard.error();
    return *std::move(guard);
  }
  // The process that a command wrote into the file of marks, when it is there.
  pid_t marked() const {
    for (;;) {
      std::ifstream file(mark());
      pid_t process = 0;
      if (file >> process && file.get() == '\n') return process;
      poll(nullptr, 0, 1);
    }
  }
  static Guard::End end_of(Guard& guard, pid_t spared = 0) {
    for (;;) {
      pollfd line{guard.descriptor(), POLLIN, 0};
      poll(&line, 1, -1);
      if (const auto end = guard.ended(spared)) return *end;
    }
  }
  static bool runs(pid_t process) { return !families_of(std::array{process}).empty(); }

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

// tempod reports a lost lock as a deadline that has passed. The wrapper was then faster than the
// guard on a busy machine, and said that the command was not stopped in time.
TEST_F(GuardTest, StopsInTimeWhenTheLockIsLostEarly) {
  Guard guard = started(fmt::format("echo $$ > {}; exec sleep 1000", mark()));
  const pid_t command = marked();
  guard.extend(boot_clock() - 1s);
  std::optional<Guard::End> end = guard.ended();
  if (!end) end = end_of(guard);
  EXPECT_TRUE(end->stopped);
  EXPECT_TRUE(end->left.empty());
  EXPECT_TRUE(end->ran_on.empty());
  EXPECT_FALSE(runs(command));
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

TEST_F(GuardTest, StopsProcessesThatLeftTheGroup) {
  Guard guard = started(
      fmt::format("setsid sh -c 'echo $$ > {}; exec sleep 1000' & exec sleep 1000", mark()));
  const pid_t away = marked();
  EXPECT_TRUE(runs(away));
  guard.stop();
  EXPECT_TRUE(end_of(guard).stopped);
  EXPECT_FALSE(runs(away));
}

TEST_F(GuardTest, WaitsForProcessesThatOutliveTheCommand) {
  Guard guard =
      started(fmt::format("setsid sh -c 'echo $$ > {}; exec sleep 1.2' & exit 7", mark()));
  const pid_t away = marked();
  std::optional<Guard::Left> left;
  std::optional<Guard::End> end;
  while (!(end = guard.ended())) {
    if (auto one = guard.left()) left = one;
    pollfd line{guard.descriptor(), POLLIN, 0};
    poll(&line, 1, -1);
  }
  EXPECT_FALSE(runs(away));
  EXPECT_FALSE(end->stopped);
  EXPECT_EQ(exit_status_of(*end), 7);
  ASSERT_TRUE(left);
  EXPECT_EQ(left_text(*left),
            fmt::format("the command has ended, but 1 of its processes still runs: sleep (pid {})",
                        away));
}

// Nobody calls `ended`: tempo is stopped too.
TEST_F(GuardTest, LeavesNoProcessOfTheGroupWhenItIsStopped) {
  const auto deadline = boot_clock() + 400ms;
  Guard guard = started(
      fmt::format("sh -c 'echo $$ > {}; exec sleep 1000' & exec sleep 1000", mark()), 400ms);
  const pid_t child = marked();
  const auto others = children_of(getpid());
  ASSERT_EQ(others.size(), 1U);
  kill(others.front(), SIGSTOP);
  while (runs(child) && boot_clock() < deadline + 1s) poll(nullptr, 0, 1);
  EXPECT_LT(boot_clock(), deadline);
  EXPECT_TRUE(end_of(guard).stopped);
}

TEST_F(GuardTest, StopsWhatAKilledGuardHasLeftAndNothingElse) {
  const pid_t before = fork();
  if (before == 0) execlp("sleep", "sleep", "1000", nullptr);
  Guard guard = started(
      fmt::format("setsid sh -c 'echo $$ > {}; exec sleep 1000' & exec sleep 1000", mark()));
  const pid_t spared = fork();
  if (spared == 0) execlp("sleep", "sleep", "1000", nullptr);
  const pid_t away = marked();
  for (const pid_t child : children_of(getpid()))
    if (child != before && child != spared) kill(child, SIGKILL);
  const Guard::End end = end_of(guard, spared);
  EXPECT_TRUE(end.stopped);
  EXPECT_TRUE(end.left.empty() && end.ran_on.empty());
  EXPECT_FALSE(runs(away));
  for (const pid_t other : {before, spared}) {
    EXPECT_TRUE(runs(other));
    kill(other, SIGKILL);
    waitpid(other, nullptr, 0);
  }
}

// A command that has ended while its guard was stopped has its own status.
TEST_F(GuardTest, PassesOnTheStatusOfACommandWhenTheGuardIsStopped) {
  Guard guard = started(fmt::format("echo $$ > {}; sleep 0.1; exit 7", mark()), 600ms);
  const pid_t command = marked();
  for (const pid_t child : children_of(getpid())) kill(child, SIGSTOP);
  const Guard::End end = end_of(guard);
  EXPECT_FALSE(end.stopped);
  EXPECT_EQ(exit_status_of(end), 7);
  EXPECT_FALSE(runs(command));
}

TEST(Processes, AreNamedUpToFive) {
  std::vector<Process> processes{{.id = 7, .name = "sleep"}};
  EXPECT_EQ(names_of(processes), "sleep (pid 7)");
  for (pid_t id = 11; id < 18; ++id) processes.push_back({.id = id, .name = "job"});
  EXPECT_EQ(names_of(processes),
            "sleep (pid 7), job (pid 11), job (pid 12), job (pid 13), job (pid 14) and 3 more");
}

TEST(CommandCgroup, KillsItsProcesses) {
  const CommandCgroup group = CommandCgroup::create();
  if (!group.exists()) GTEST_SKIP() << "needs a writable cgroup (version 2)";
  const pid_t child = group.fork();
  if (child == 0) execlp("setsid", "setsid", "sleep", "1000", nullptr);
  group.kill();
  int status = 0;
  pid_t ended = 0;
  for (int i = 0; i < 5'000 && (ended = waitpid(child, &status, WNOHANG)) == 0; ++i)
    poll(nullptr, 0, 1);
  if (ended == 0) kill(child, SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  group.remove();
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
