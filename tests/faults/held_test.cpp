// A held lock while its holder, its wrapper (`tempo lock`) or its daemon fails. Three daemons with
// leases of one second: a command runs under a lock on one host, another command waits for the lock
// on the next, and both record when they run. 15 such trials in the short version, 50 and more in
// `make soak`; the two commands never run at the same time.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "held_lock.h"
#include "platform/clocks/boot_clock.h"
#include "stamps.h"
#include "tempo/lock.h"

namespace tempo::faults {
namespace {

class HeldLock : public LockTrial {
 protected:
  // Runs several trials: the commands never run at the same time, and the wrapper reports the loss.
  static void expect_no_overlap(const Injection& kind) {
    const int trials = std::getenv("TEMPO_SOAK") != nullptr ? 17 : 3;
    for (int i = 0; i < trials; ++i) {
      ASSERT_TRUE(site->wait(20s, all_ready)) << site->describe();
      Injection one = kind;
      one.ignore_term = i % 2 == 1;
      const Outcome outcome = run_trial(one);
      EXPECT_EQ(outcome.overlap, Nanos{0}) << "trial " << i;
      EXPECT_EQ(outcome.status, kLost) << "trial " << i;
      EXPECT_GT(outcome.gap, kLease / 4) << "granted before the lease ended in trial " << i;
    }
  }

  // A waiting wrapper is stopped and then granted the lock; its daemon fails, and another client
  // gets the lock. After SIGCONT the wrapper does not start its command and prints why.
  static void expect_not_started(const Injection& fault) {
    static int trials = 0;
    const std::string name = fmt::format("stopped-{}", ++trials);
    const std::string file = site->directory() + '/' + name;
    auto before = Locks::connect(site->host(1).socket());
    ASSERT_TRUE(before) << before.error().message;
    auto lock = before->acquire(name, {.wait = 20s});
    ASSERT_TRUE(lock) << lock.error().message;
    // A short command, so that it would finish before anything could stop it.
    Program wrapper({TEMPO_BINARY, "lock", "--socket", site->host(0).socket(), name, "--", "mkdir",
                     file + "-a"},
                    file + "-stderr");
    ASSERT_TRUE(site->wait(20s, [&] { return waits(0, name); }));
    wrapper.send(SIGSTOP);
    lock->release();
    ASSERT_TRUE(site->wait(20s, [&] { return holds(0, name); }));
    fault.begin(wrapper);
    Program other(under_lock(1, name, {.file = file + "-b", .span = kLong}));
    EXPECT_TRUE(site->wait(20s, [&] { return stamps_in(file + "-b").has_value(); }));
    wrapper.send(SIGCONT);
    EXPECT_EQ(wrapper.wait(), kLost);
    EXPECT_FALSE(std::filesystem::exists(file + "-a")) << "both commands ran";
    EXPECT_NE(text_of(file + "-stderr").find("the command was not run"), std::string::npos)
        << text_of(file + "-stderr");
    fault.end(wrapper);
  }
};

TEST_F(HeldLock, StaysExclusiveWhenWrapperIsPaused) {
  expect_no_overlap({.begin = [](const Program& holder) { holder.send(SIGSTOP); },
                     .end = [](const Program& holder) { holder.send(SIGCONT); }});
}

TEST_F(HeldLock, StaysExclusiveWhenDaemonIsPaused) {
  expect_no_overlap({.begin = [](const Program&) { site->host(0).pause(true); },
                     .end = [](const Program&) { site->host(0).pause(false); }});
}

TEST_F(HeldLock, StaysExclusiveWhenBothArePaused) {
  expect_no_overlap({.begin =
                         [](const Program& holder) {
                           holder.send(SIGSTOP);
                           site->host(0).pause(true);
                         },
                     .end =
                         [](const Program& holder) {
                           site->host(0).pause(false);
                           holder.send(SIGCONT);
                         }});
}

TEST_F(HeldLock, StaysExclusiveWhenDaemonIsStopped) {
  expect_no_overlap({.begin = [](const Program&) { site->host(0).stop(); },
                     .end = [](const Program&) { site->host(0).start(); }});
}

TEST_F(HeldLock, StaysExclusiveWhenDaemonIsDisconnected) {
  expect_no_overlap({.begin = [](const Program&) { site->host(0).set_link(false); },
                     .end = [](const Program&) { site->host(0).set_link(true); }});
}

// While the wrapper was stopped, it was granted the lock, lost it, and another client got it.
TEST_F(HeldLock, IsNotUsedByStoppedWrapperOfPausedDaemon) {
  expect_not_started({.begin = [](const Program&) { site->host(0).pause(true); },
                      .end = [](const Program&) { site->host(0).pause(false); }});
}

// The daemon runs again and has reported the loss of the lock.
TEST_F(HeldLock, IsNotUsedByStoppedWrapperAfterReportedLoss) {
  expect_not_started({.begin = [](const Program&) {
    const BootTime paused = sys::boot_clock();
    site->host(0).pause(true);
    EXPECT_TRUE(site->wait(20s, [&] { return sys::boot_clock() > paused + 2 * kLease; }));
    site->host(0).pause(false);
  }});
}

TEST_F(HeldLock, IsNotUsedByStoppedWrapperOfKilledDaemon) {
  expect_not_started({.begin = [](const Program&) { site->host(0).kill_all(); },
                      .end = [](const Program&) { site->host(0).start(); }});
}

// A lock is granted without waiting for the end of the lease when its holder is known to be dead;
// waiting would take half a lease or more each time. The shortest of several gaps counts, because a
// busy machine delays some. Most of the gap is the start of the next command, which takes longer
// with sanitizers.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr Nanos kSoon = kLease / 4;
#else
constexpr Nanos kSoon = 50ms;
#endif
void expect_soon(const std::function<Nanos()>& gap) {
  constexpr int kMaxTrials = 5;
  Nanos shortest = kLong;
  for (int i = 0; i < kMaxTrials && shortest >= kSoon; ++i) shortest = std::min(shortest, gap());
  EXPECT_LT(shortest, kSoon);
}

TEST_F(HeldLock, IsGrantedAtOnceAfterWrapperIsKilled) {
  expect_soon([] {
    const Outcome outcome =
        run_trial({.begin = [](const Program& holder) { holder.send(SIGKILL); }});
    EXPECT_EQ(outcome.overlap, Nanos{0});
    return outcome.gap;
  });
}

TEST_F(HeldLock, IsGrantedAtOnceAfterProgramIsKilled) {
  int times = 0;
  expect_soon([&] {
    const std::string name = fmt::format("program-{}", ++times);
    const std::string file = site->directory() + '/' + name;
    const pid_t program = fork();
    if (program == 0) {
      auto locks = Locks::connect(site->host(0).socket());
      const auto lock = locks ? locks->acquire(name) : Unexpected{locks.error()};
      if (lock) stamp({file + "-a", std::to_string(kLong.count()), "exit-on-term"});
      _exit(1);
    }
    EXPECT_TRUE(site->wait(20s, [&] { return stamps_in(file + "-a").has_value(); }));
    Program other(under_lock(1, name, {.file = file + "-b", .span = 20ms}));
    EXPECT_TRUE(site->wait(20s, [&] { return waits(1, name); }));
    const BootTime injected = sys::boot_clock();
    kill(program, SIGKILL);
    waitpid(program, nullptr, 0);
    EXPECT_EQ(other.wait(), 0);
    const auto stamps = stamps_in(file + "-b");
    return stamps ? stamps->first - injected : kLong;
  });
}

// The guard of a command has real-time priority, so that it is on time on a busy machine; the
// command itself has normal priority.
TEST_F(HeldLock, HasGuardWithRealtimePriority) {
  const std::string file = site->directory() + "/urgent";
  Program holder(under_lock(0, "urgent", {.file = file, .span = kLong}));
  ASSERT_TRUE(site->wait(20s, [&] { return stamps_in(file).has_value(); }));
  const pid_t guard = child_of(holder.id());
  ASSERT_GT(guard, 0);
  EXPECT_EQ(sched_getscheduler(guard), SCHED_FIFO | SCHED_RESET_ON_FORK);
  EXPECT_EQ(sched_getscheduler(child_of(guard)), SCHED_OTHER);
}

// --- programs that use libtempo ---

class LibtempoLock : public HeldLock {
 protected:
  static Locks connected(std::uint32_t host) {
    auto locks = Locks::connect(site->host(host).socket());
    if (!locks) throw std::runtime_error(locks.error().message);
    return *std::move(locks);
  }
};

// The daemon stays away: the lease is valid until its deadline and is not extended, and then the
// connection reports why it failed. A new connection acquires the lock with a larger token.
TEST_F(LibtempoLock, LastsUntilDeadlineWhenDaemonStaysAway) {
  Locks locks = connected(0);
  auto lock = locks.acquire("restart", {.wait = 20s});
  ASSERT_TRUE(lock) << lock.error().message;
  const Nanos before = lock->deadline();
  site->host(0).stop();
  const Nanos deadline = lock->deadline();
  EXPECT_GE(deadline, before);
  EXPECT_TRUE(site->wait(20s, [&] {
    EXPECT_EQ(lock->deadline(), deadline) << "the lease was extended";
    return sys::boot_clock().time_since_epoch() >= deadline;
  }));
  EXPECT_EQ(lock->remaining(), Nanos{0});
  const auto refused = locks.acquire("another", {.wait = 20s});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::no_daemon);
  EXPECT_NE(refused.error().message.find("closed the connection"), std::string::npos)
      << refused.error().message;

  site->host(0).start();
  ASSERT_TRUE(site->wait(20s, all_ready));
  Locks again = connected(0);
  const auto next = again.acquire("restart", {.wait = 20s});
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_GT(next->token(), lock->token());
}

// The daemon of the holder is killed; no other client gets the lock before the deadline.
TEST_F(LibtempoLock, IsNotGrantedToOthersBeforeDeadline) {
  Locks locks = connected(0);
  auto lock = locks.acquire("gone", {.wait = 20s});
  ASSERT_TRUE(lock) << lock.error().message;
  const Nanos before = lock->deadline();
  site->host(0).kill_all();
  const Nanos deadline = lock->deadline();
  EXPECT_GE(deadline, before);
  Locks others = connected(1);
  const auto next = others.acquire("gone", {.wait = 60s});
  const Nanos granted = sys::boot_clock().time_since_epoch();
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_GE(granted, deadline);
  EXPECT_GT(next->token(), lock->token());
  site->host(0).start();
}

// A daemon that was paused reports lost locks to its clients after it continues; they can acquire
// locks again on the same connection.
TEST_F(LibtempoLock, IsReportedLostAfterDaemonWasPaused) {
  Locks locks = connected(0);
  auto lock = locks.acquire("still", {.wait = 20s});
  ASSERT_TRUE(lock) << lock.error().message;
  const std::uint64_t token = lock->token();
  site->host(0).pause(true);
  Locks others = connected(1);
  {
    const auto next = others.acquire("still", {.wait = 60s});
    ASSERT_TRUE(next) << next.error().message;
    EXPECT_EQ(lock->remaining(), Nanos{0}) << "the deadline has passed on the boot clock";
    EXPECT_GT(next->token(), token);
  }
  site->host(0).pause(false);
  EXPECT_TRUE(site->wait(20s, [&] { return lock->deadline() == Nanos{0}; }))
      << "the loss was not reported";
  const auto again = locks.acquire("still", {.wait = 20s});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_GT(again->token(), token);
}

}  // namespace
}  // namespace tempo::faults
