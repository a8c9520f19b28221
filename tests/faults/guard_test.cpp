// The keepers of a command under a lock are stopped: its guard, its wrapper (`tempo lock`), its
// daemon, each pair and all three; then the link is cut or the daemon is killed or stopped. Another
// command waits for the lock on the next machine. 7 such trials in the short version, 105 in
// `make soak`: neither the command nor a process of its group runs beside the other command. With
// the guard alone stopped and the link cut, two commands once ran for the whole of the second hold.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "held_lock.h"
#include "stamps.h"

namespace tempo::faults {
namespace {

using ::testing::HasSubstr;

constexpr int kRanOn = 104;  // exit status of `tempo lock` if processes outlived the lease

constexpr unsigned kGuard = 1;
constexpr unsigned kWrapper = 2;
constexpr unsigned kDaemon = 4;
constexpr unsigned kAllThree = kGuard | kWrapper | kDaemon;

enum class Fault : std::uint8_t { link_cut, daemon_killed, daemon_stopped };
constexpr std::array kFaults{Fault::link_cut, Fault::daemon_killed, Fault::daemon_stopped};

class GuardFaults : public LockTrial {
 protected:
  static std::string stamping(const std::string& file) {
    std::string line;
    for (const std::string& word : stamp_command({.file = file, .span = kLong})) line += word + ' ';
    return line;
  }

  // `tempo lock` on the first host with this line of a shell.
  static std::vector<std::string> shell_under_lock(const std::string& name,
                                                   const std::string& line) {
    return {TEMPO_BINARY, "lock", "--socket", site->host(0).socket(), name, "--", "sh", "-c", line};
  }

  // `tempo lock` of the user nobody with a program of root, as sudo would start it.
  static std::vector<std::string> root_program_of_nobody(const std::string& name,
                                                         const std::string& file, Nanos span) {
    const std::string program = site->directory() + "/like-sudo";
    if (!std::filesystem::exists(program)) {
      std::filesystem::permissions(site->directory(), std::filesystem::perms{0755});
      std::filesystem::copy_file("/proc/self/exe", program);
      std::filesystem::permissions(program, std::filesystem::perms{04755});
    }
    std::vector<std::string> command{"/usr/bin/setpriv", "--reuid", "nobody",
                                     "--regid",          "root",    "--clear-groups"};
    for (std::string& word : shell_under_lock(
             name,
             fmt::format("exec {} {} {} {} exit-on-term", program, kStamp, file, span.count())))
      command.push_back(std::move(word));
    return command;
  }

  static bool started(const std::string& file) {
    return site->wait(20s, [&] { return stamps_in(file).has_value(); });
  }

  // Time in which the first ran beside the second.
  static Nanos overlap(const std::string& first, const std::string& second) {
    const auto a = stamps_in(first);
    const auto b = stamps_in(second);
    EXPECT_TRUE(a && b) << first;
    return a && b ? std::max(a->last - b->first, Nanos{0}) : kLong;
  }

  static void inject(Fault fault) {
    if (fault == Fault::link_cut) site->host(0).set_link(false);
    if (fault == Fault::daemon_killed) site->host(0).kill_all();
    if (fault == Fault::daemon_stopped) site->host(0).pause(true);
  }

  static void repair(Fault fault) {
    if (fault != Fault::daemon_killed) site->host(0).pause(false);
    if (fault == Fault::daemon_killed) site->host(0).start();
    if (fault == Fault::link_cut) site->host(0).set_link(true);
  }

  // The command runs a process of its own group and one that left it with setsid.
  static void run_guard_trial(unsigned stopped, Fault fault) {
    static int trials = 0;
    const std::string name = fmt::format("guard-{}", ++trials);
    const std::string file = site->directory() + '/' + name;
    SCOPED_TRACE(fmt::format("{} stopped {}, fault {}", name, stopped, static_cast<int>(fault)));
    Program holder(
        shell_under_lock(name, fmt::format("{}& setsid {}& exec {}", stamping(file + "-child"),
                                           stamping(file + "-away"), stamping(file + "-a"))),
        file + "-stderr");
    ASSERT_TRUE(started(file + "-a") && started(file + "-child") && started(file + "-away"));
    Program other(under_lock(1, name, {.file = file + "-b", .span = 100ms}));
    ASSERT_TRUE(site->wait(20s, [&] { return waits(1, name); }));
    const pid_t guard = child_of(holder.id());
    ASSERT_GT(guard, 0);
    if ((stopped & kGuard) != 0) kill(guard, SIGSTOP);
    if ((stopped & kWrapper) != 0) holder.send(SIGSTOP);
    if ((stopped & kDaemon) != 0) site->host(0).pause(true);
    inject(fault);
    EXPECT_EQ(other.wait(), 0);
    if ((stopped & kGuard) != 0) kill(guard, SIGCONT);
    holder.send(SIGCONT);
    repair(fault);
    const int status = holder.wait();
    EXPECT_EQ(overlap(file + "-a", file + "-b"), Nanos{0});
    EXPECT_EQ(overlap(file + "-child", file + "-b"), Nanos{0});
    // Nothing was left that could stop a process of another group: tempo says so.
    const bool none_left = (stopped & kGuard) != 0 && (stopped & kWrapper) != 0;
    EXPECT_EQ(status, none_left ? kRanOn : kLost) << text_of(file + "-stderr");
    if (none_left)
      EXPECT_THAT(text_of(file + "-stderr"),
                  HasSubstr("1 process of the command was not stopped in time: "));
    else
      EXPECT_EQ(overlap(file + "-away", file + "-b"), Nanos{0});
    const auto away = stamps_in(file + "-away");
    ASSERT_TRUE(away);
    EXPECT_GT(sys::boot_clock() - away->last, Nanos{0});
    ASSERT_TRUE(site->wait(20s, all_ready)) << site->describe();
  }

  // Time that the process has used.
  static double processor_s(pid_t process) {
    std::istringstream fields(text_of(fmt::format("/proc/{}/stat", process)));
    std::string skipped;
    for (int i = 0; i < 13; ++i) fields >> skipped;  // its name has no space
    double user = 0;
    double system = 0;
    fields >> user >> system;
    return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }

  static bool soak() { return std::getenv("TEMPO_SOAK") != nullptr; }
  static void run_guard_trials(unsigned stopped) {
    if (!soak()) return run_guard_trial(stopped, Fault::link_cut);
    for (int i = 0; i < 5; ++i)
      for (const Fault fault : kFaults) run_guard_trial(stopped, fault);
  }
};

TEST_F(GuardFaults, GuardStopped) { run_guard_trials(kGuard); }
TEST_F(GuardFaults, WrapperStopped) { run_guard_trials(kWrapper); }
TEST_F(GuardFaults, DaemonStopped) { run_guard_trials(kDaemon); }
TEST_F(GuardFaults, GuardAndWrapperStopped) { run_guard_trials(kGuard | kWrapper); }
TEST_F(GuardFaults, GuardAndDaemonStopped) { run_guard_trials(kGuard | kDaemon); }
TEST_F(GuardFaults, WrapperAndDaemonStopped) { run_guard_trials(kWrapper | kDaemon); }
TEST_F(GuardFaults, AllThreeStopped) { run_guard_trials(kAllThree); }

// A command that goes into the background with setsid ends at once; the lock is held until its
// process has ended too.
TEST_F(GuardFaults, HoldsTheLockWhileAProcessOfTheCommandRuns) {
  const std::string file = site->directory() + "/background";
  std::string line = "setsid -f ";
  for (const std::string& word : stamp_command({.file = file + "-a", .span = 2500ms}))
    line += word + ' ';
  Program holder(shell_under_lock("background", line + "; exit 7"), file + "-stderr");
  ASSERT_TRUE(started(file + "-a"));
  Program other(under_lock(1, "background", {.file = file + "-b", .span = 20ms}));
  EXPECT_EQ(other.wait(), 0);
  EXPECT_EQ(holder.wait(), 7) << "the status of the command";
  EXPECT_EQ(overlap(file + "-a", file + "-b"), Nanos{0});
  EXPECT_THAT(text_of(file + "-stderr"),
              HasSubstr("the command has ended, but 1 of its processes still runs"));
}

// A process of another user cannot be stopped: tempo says which, with a status of its own.
TEST_F(GuardFaults, NamesAProcessOfAnotherUserThatItCannotStop) {
  const std::string file = site->directory() + "/sudo";
  Program holder(root_program_of_nobody("sudo", file + "-a", 8s), file + "-stderr");
  ASSERT_TRUE(started(file + "-a")) << text_of(file + "-stderr");
  Program other(under_lock(1, "sudo", {.file = file + "-b", .span = 20ms}));
  ASSERT_TRUE(site->wait(20s, [&] { return waits(1, "sudo"); }));
  site->host(0).set_link(false);
  EXPECT_EQ(holder.wait(), kRanOn);
  site->host(0).set_link(true);
  EXPECT_THAT(text_of(file + "-stderr"),
              HasSubstr("1 process of the command could not be stopped: like-sudo (pid "));
  EXPECT_EQ(other.wait(), 0);
}

// While the lease lasts, the lock is held for such a process.
TEST_F(GuardFaults, HoldsTheLockWhileAProcessCannotBeStopped) {
  const std::string file = site->directory() + "/stuck";
  Program holder(root_program_of_nobody("stuck", file + "-a", 4s), file + "-stderr");
  ASSERT_TRUE(started(file + "-a")) << text_of(file + "-stderr");
  Program other(under_lock(1, "stuck", {.file = file + "-b", .span = 20ms}));
  ASSERT_TRUE(site->wait(20s, [&] { return waits(1, "stuck"); }));
  kill(child_of(holder.id()), SIGKILL);
  const auto says = [&] {
    return text_of(file + "-stderr").find("still runs") != std::string::npos;
  };
  ASSERT_TRUE(site->wait(20s, says));
  const BootTime since = sys::boot_clock();
  const double before = processor_s(holder.id());
  ASSERT_TRUE(site->wait(20s, [&] { return sys::boot_clock() > since + 1s; }));
  EXPECT_LT(processor_s(holder.id()) - before, 0.5) << "tempo must not spin while it waits";
  EXPECT_EQ(other.wait(), 0);
  EXPECT_EQ(holder.wait(), kLost);
  EXPECT_EQ(overlap(file + "-a", file + "-b"), Nanos{0});
  EXPECT_THAT(text_of(file + "-stderr"),
              HasSubstr("1 process of the command cannot be stopped and still runs: like-sudo"));
}

TEST_F(GuardFaults, ElectedCommandEndsWithItsKeepersStopped) {
  const std::string file = site->directory() + "/elected";
  const auto candidate = [&](std::uint32_t host, const std::string& weight, const std::string& mark,
                             Nanos span) {
    std::vector<std::string> words{TEMPO_BINARY,  "elect",
                                   "--socket",    site->host(host).socket(),
                                   "--criterion", "weight=" + weight,
                                   "--once",      "keepers",
                                   "--"};
    for (std::string& word : stamp_command({.file = file + mark, .span = span}))
      words.push_back(std::move(word));
    return words;
  };
  Program leader(candidate(0, "9", "-a", kLong));
  ASSERT_TRUE(started(file + "-a"));
  Program other(candidate(1, "1", "-b", 100ms));
  const pid_t guard = child_of(leader.id());
  ASSERT_GT(guard, 0);
  kill(guard, SIGSTOP);
  leader.send(SIGSTOP);
  site->host(0).set_link(false);
  EXPECT_TRUE(started(file + "-b"));
  EXPECT_EQ(other.wait(), 0);
  site->host(0).set_link(true);
  EXPECT_EQ(overlap(file + "-a", file + "-b"), Nanos{0});
}

}  // namespace
}  // namespace tempo::faults
