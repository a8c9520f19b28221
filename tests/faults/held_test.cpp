// What becomes of a lock that is held when its holder, its wrapper or its daemon comes to harm.
// Three daemons with leases of a second: a command runs under a lock at one host, another waits for
// it at the next, and both say when they run. 15 such trials in the short version, 50 and more in
// `make soak`; in none do they run together.
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/control_protocol.h"
#include "client/client.h"
#include "platform/clocks/boot_clock.h"
#include "stamps.h"
#include "support/site.h"
#include "tempo/lock.h"

namespace tempo::faults {
namespace {

constexpr std::uint32_t kHosts = 3;
constexpr Nanos kLease = 1s;
constexpr Nanos kLong = 600s;  // longer than any test
constexpr int kLost = 101;     // the status of `tempo lock` when the lock could not be kept

// A program with its own process; it is gone when this is.
class Program {
 public:
  // What it complains of goes to that file.
  explicit Program(const std::vector<std::string>& words,
                   const std::string& complaints = "/dev/null") {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    process_ = fork();
    if (process_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int file = open(complaints.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    dup2(file, STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  ~Program() {
    if (process_ <= 0) return;
    send(SIGCONT);
    send(SIGKILL);
    wait();
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t id() const { return process_; }
  void send(int signal) const { kill(process_, signal); }
  // Its exit status; 1000 and more if a signal ended it.
  int wait() {
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }

 private:
  pid_t process_ = 0;
};

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

pid_t child_of(pid_t process) {
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", process));
  pid_t child = 0;
  children >> child;
  return child;
}

class Held : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    why_not = testbed::Site::obstacle();
    if (!why_not.empty()) return;
    site = std::make_unique<testbed::Site>(testbed::Site::Options{
        .tempod = TEMPO_TEMPOD,
        .profile = "fast",
        .realtime = true,  // as packaged: a lease of a second is to outlive a busy machine
        .arguments = {"--set", fmt::format("locks.expect={}", kHosts), "--set",
                      fmt::format("locks.lease-ms={}", kLease / 1ms)}});
    for (std::uint32_t i = 0; i < kHosts; ++i) site->add();
    site->start_all();
  }
  static void TearDownTestSuite() { site.reset(); }
  void SetUp() override {
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    ASSERT_TRUE(site->wait(20s, all_ready)) << site->describe();
  }
  static bool all_ready() {
    for (std::uint32_t i = 0; i < kHosts; ++i) {
      const auto status = site->host(i).status();
      if (!status || !status->locks.contains("; locks ")) return false;
    }
    return true;
  }

  static std::vector<std::string> under_lock(std::uint32_t host, const std::string& name,
                                             const StampOrder& command) {
    std::vector<std::string> words{TEMPO_BINARY, "lock", "--socket", site->host(host).socket(),
                                   name,         "--"};
    for (std::string& word : words_of(command)) words.push_back(std::move(word));
    return words;
  }

  struct Harm {
    std::function<void(const Program&)> begin;
    std::function<void(const Program&)> end = [](const Program&) {};
    bool stubborn = false;  // the command does not end when it is asked to
  };
  struct Outcome {
    int status = 0;    // of the harmed holder's wrapper
    Nanos overlap{0};  // of the two commands
    Nanos gap{0};      // from the harm to the other's first moment
  };
  // One trial.
  static Outcome harm(const Harm& harm) {
    static int trials = 0;
    const std::string name = fmt::format("trial-{}", ++trials);
    const std::string file = site->directory() + '/' + name;
    Program holder(
        under_lock(0, name, {.file = file + "-a", .span = kLong, .stubborn = harm.stubborn}));
    EXPECT_TRUE(site->wait(20s, [&] { return stamps_in(file + "-a").has_value(); }));
    Program other(under_lock(1, name, {.file = file + "-b", .span = 20ms}));
    EXPECT_TRUE(site->wait(20s, [&] { return waits(1, name); }));
    EXPECT_FALSE(stamps_in(file + "-b")) << "both run before anything has happened";
    const Instant harmed = sys::boot_clock();
    harm.begin(holder);
    EXPECT_EQ(other.wait(), 0);
    harm.end(holder);
    Outcome outcome{.status = holder.wait()};
    const auto first = stamps_in(file + "-a");
    const auto second = stamps_in(file + "-b");
    EXPECT_TRUE(first && second);
    if (!first || !second) return outcome;
    EXPECT_GE(second->last - second->first, 20ms) << "it was not let run to its end";
    outcome.overlap = std::max(first->last - second->first, Nanos{0});
    outcome.gap = second->first - harmed;
    return outcome;
  }
  // Who of that host has it or waits for it.
  static std::vector<ipc::LockView::Client> clients(std::uint32_t host, const std::string& name) {
    ipc::Request request;
    request.verb = ipc::Verb::locks;
    auto client = client::Client::connect(site->host(host).socket(), 2s);
    if (!client) return {};
    const auto reply = client->ask(request);
    if (!reply) return {};
    const auto locks = ipc::locks_of(*reply);
    if (!locks) return {};
    for (const ipc::LockView& lock : *locks)
      if (lock.name == name) return lock.clients;
    return {};
  }
  static bool waits(std::uint32_t host, const std::string& name) {
    return std::ranges::any_of(clients(host, name), [](const auto& who) { return !who.inside; });
  }
  static bool is_inside(std::uint32_t host, const std::string& name) {
    return std::ranges::any_of(clients(host, name), [](const auto& who) { return who.inside; });
  }

  // Each kind of harm as often; both commands never run together, and the holder learns of it.
  static void expect_no_overlap(const Harm& kind) {
    const int trials = std::getenv("TEMPO_SOAK") != nullptr ? 17 : 3;
    for (int i = 0; i < trials; ++i) {
      ASSERT_TRUE(site->wait(20s, all_ready)) << site->describe();
      Harm one = kind;
      one.stubborn = i % 2 == 1;
      const Outcome outcome = harm(one);
      EXPECT_EQ(outcome.overlap, Nanos{0}) << "trial " << i;
      EXPECT_EQ(outcome.status, kLost) << "trial " << i;
      EXPECT_GT(outcome.gap, kLease / 4) << "the lease was not waited for, in trial " << i;
    }
  }

  // A wrapper that waits is stopped, and the lock given to it; its daemon comes to harm, and
  // another has the lock. When it wakes it does not start its command, and says so.
  static void expect_not_started(const Harm& harm) {
    static int trials = 0;
    const std::string name = fmt::format("sleeper-{}", ++trials);
    const std::string file = site->directory() + '/' + name;
    auto before = Locks::connect(site->host(1).socket());
    ASSERT_TRUE(before) << before.error().message;
    auto lock = before->acquire(name, {.wait = 20s});
    ASSERT_TRUE(lock) << lock.error().message;
    // The least that a command can do, so that it is done before anybody can stop it.
    Program sleeper({TEMPO_BINARY, "lock", "--socket", site->host(0).socket(), name, "--", "mkdir",
                     file + "-a"},
                    file + "-complaints");
    ASSERT_TRUE(site->wait(20s, [&] { return waits(0, name); }));
    sleeper.send(SIGSTOP);
    lock->release();
    ASSERT_TRUE(site->wait(20s, [&] { return is_inside(0, name); }));
    harm.begin(sleeper);
    Program other(under_lock(1, name, {.file = file + "-b", .span = kLong}));
    EXPECT_TRUE(site->wait(20s, [&] { return stamps_in(file + "-b").has_value(); }));
    sleeper.send(SIGCONT);
    EXPECT_EQ(sleeper.wait(), kLost);
    EXPECT_FALSE(std::filesystem::exists(file + "-a")) << "its command ran beside the other";
    EXPECT_NE(text_of(file + "-complaints").find("the command was not started"), std::string::npos)
        << text_of(file + "-complaints");
    harm.end(sleeper);
  }

  static std::unique_ptr<testbed::Site> site;
  static std::string why_not;
};
std::unique_ptr<testbed::Site> Held::site;
std::string Held::why_not;

TEST_F(Held, IsNotHadByTwoWhenTheWrapperIsPaused) {
  expect_no_overlap({.begin = [](const Program& holder) { holder.send(SIGSTOP); },
                     .end = [](const Program& holder) { holder.send(SIGCONT); }});
}

TEST_F(Held, IsNotHadByTwoWhenTheDaemonIsPaused) {
  expect_no_overlap({.begin = [](const Program&) { site->host(0).pause(true); },
                     .end = [](const Program&) { site->host(0).pause(false); }});
}

TEST_F(Held, IsNotHadByTwoWhenBothArePaused) {
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

TEST_F(Held, IsNotHadByTwoWhenTheDaemonIsRestarted) {
  expect_no_overlap({.begin = [](const Program&) {
    site->host(0).stop();
    site->host(0).start();
  }});
}

TEST_F(Held, IsNotHadByTwoWhenTheDaemonIsCutOff) {
  expect_no_overlap({.begin = [](const Program&) { site->host(0).set_link(false); },
                     .end = [](const Program&) { site->host(0).set_link(true); }});
}

// While it slept the lock was its own, and then another's.
TEST_F(Held, IsNotUsedByASleeperWhoseDaemonStandsStill) {
  expect_not_started({.begin = [](const Program&) { site->host(0).pause(true); },
                      .end = [](const Program&) { site->host(0).pause(false); }});
}

// The daemon is awake again, and has said that the lock is lost.
TEST_F(Held, IsNotUsedByASleeperWhoIsToldThatItIsLost) {
  expect_not_started({.begin = [](const Program&) {
    const Instant paused = sys::boot_clock();
    site->host(0).pause(true);
    EXPECT_TRUE(site->wait(20s, [&] { return sys::boot_clock() > paused + 2 * kLease; }));
    site->host(0).pause(false);
  }});
}

TEST_F(Held, IsNotUsedByASleeperWhoseDaemonIsKilled) {
  expect_not_started({.begin = [](const Program&) { site->host(0).kill_all(); },
                      .end = [](const Program&) { site->host(0).start(); }});
}

// Nobody waits for a lease to end when its holder is known to be dead: that would take half a lease
// and more each time. A busy machine may, now and then. Most of it is the start of the next
// command, which takes programs with sanitizers longer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr Nanos kSoon = kLease / 4;
#else
constexpr Nanos kSoon = 50ms;
#endif
void expect_soon(const std::function<Nanos()>& gap) {
  constexpr int kMaxTimes = 5;
  Nanos shortest = kLong;
  for (int i = 0; i < kMaxTimes && shortest >= kSoon; ++i) shortest = std::min(shortest, gap());
  EXPECT_LT(shortest, kSoon);
}

TEST_F(Held, IsHadByTheNextAtOnceWhenTheWrapperIsKilled) {
  expect_soon([] {
    const Outcome outcome = harm({.begin = [](const Program& holder) { holder.send(SIGKILL); }});
    EXPECT_EQ(outcome.overlap, Nanos{0});
    return outcome.gap;
  });
}

TEST_F(Held, IsHadByTheNextAtOnceWhenAProgramIsKilled) {
  int times = 0;
  expect_soon([&] {
    const std::string name = fmt::format("program-{}", ++times);
    const std::string file = site->directory() + '/' + name;
    const pid_t program = fork();
    if (program == 0) {
      auto locks = Locks::connect(site->host(0).socket());
      const auto lock = locks ? locks->acquire(name) : Unexpected{locks.error()};
      if (lock) stamp({file + "-a", std::to_string(kLong.count()), "polite"});
      _exit(1);
    }
    EXPECT_TRUE(site->wait(20s, [&] { return stamps_in(file + "-a").has_value(); }));
    Program other(under_lock(1, name, {.file = file + "-b", .span = 20ms}));
    EXPECT_TRUE(site->wait(20s, [&] { return waits(1, name); }));
    const Instant harmed = sys::boot_clock();
    kill(program, SIGKILL);
    waitpid(program, nullptr, 0);
    EXPECT_EQ(other.wait(), 0);
    const auto stamps = stamps_in(file + "-b");
    return stamps ? stamps->first - harmed : kLong;
  });
}

// The guard of a command is on time on a busy machine, too; the command is as any other.
TEST_F(Held, HasAGuardThatGoesBeforeOrdinaryPrograms) {
  const std::string file = site->directory() + "/urgent";
  Program holder(under_lock(0, "urgent", {.file = file, .span = kLong}));
  ASSERT_TRUE(site->wait(20s, [&] { return stamps_in(file).has_value(); }));
  const pid_t guard = child_of(holder.id());
  ASSERT_GT(guard, 0);
  EXPECT_EQ(sched_getscheduler(guard), SCHED_FIFO | SCHED_RESET_ON_FORK);
  EXPECT_EQ(sched_getscheduler(child_of(guard)), SCHED_OTHER);
}

// --- for programs ---

class HeldByAProgram : public Held {
 protected:
  static Locks connected(std::uint32_t host) {
    auto locks = Locks::connect(site->host(host).socket());
    if (!locks) throw std::runtime_error(locks.error().message);
    return *std::move(locks);
  }
};

// What was promised lasts, is not extended, and ends; the old connection says why it is of no use;
// the lock is taken again on a new one, with a larger token.
TEST_F(HeldByAProgram, LastsUntilItsDeadlineWhenTheDaemonIsRestarted) {
  Locks locks = connected(0);
  auto lock = locks.acquire("restart", {.wait = 20s});
  ASSERT_TRUE(lock) << lock.error().message;
  const Nanos before = lock->deadline();
  site->host(0).stop();
  const Nanos deadline = lock->deadline();
  EXPECT_GE(deadline, before);
  const Nanos remaining = lock->remaining();
  EXPECT_GE(remaining, deadline - sys::boot_clock().time_since_epoch())
      << "what was promised is kept";
  site->host(0).start();

  const auto in_vain = locks.acquire("another", {.wait = 20s});
  ASSERT_FALSE(in_vain);
  EXPECT_EQ(in_vain.error().code, ErrorCode::no_daemon);
  EXPECT_NE(in_vain.error().message.find("closed the connection"), std::string::npos)
      << in_vain.error().message;

  ASSERT_TRUE(site->wait(20s, all_ready));
  EXPECT_EQ(lock->deadline(), deadline) << "nobody extends it";
  EXPECT_GE(sys::boot_clock().time_since_epoch(), deadline)
      << "a restarted daemon is silent so long";
  EXPECT_EQ(lock->remaining(), Nanos{0});
  Locks again = connected(0);
  const auto next = again.acquire("restart", {.wait = 20s});
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_GT(next->token(), lock->token());
}

// Nobody else has it before the deadline of one whose daemon is gone.
TEST_F(HeldByAProgram, IsNotGivenToOthersBeforeItsDeadline) {
  Locks locks = connected(0);
  auto lock = locks.acquire("gone", {.wait = 20s});
  ASSERT_TRUE(lock) << lock.error().message;
  const Nanos before = lock->deadline();
  site->host(0).kill_all();
  const Nanos deadline = lock->deadline();
  EXPECT_GE(deadline, before);
  Locks others = connected(1);
  const auto next = others.acquire("gone", {.wait = 60s});
  const Nanos had = sys::boot_clock().time_since_epoch();
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_GE(had, deadline);
  EXPECT_GT(next->token(), lock->token());
  site->host(0).start();
}

// A daemon that stood still tells its clients, when it is awake, that what they had is lost; they
// ask again on the same connection.
TEST_F(HeldByAProgram, IsToldToBeLostWhenTheDaemonStoodStill) {
  Locks locks = connected(0);
  auto lock = locks.acquire("still", {.wait = 20s});
  ASSERT_TRUE(lock) << lock.error().message;
  const std::uint64_t token = lock->token();
  site->host(0).pause(true);
  Locks others = connected(1);
  {
    const auto next = others.acquire("still", {.wait = 60s});
    ASSERT_TRUE(next) << next.error().message;
    EXPECT_EQ(lock->remaining(), Nanos{0}) << "by the clock alone";
    EXPECT_GT(next->token(), token);
  }
  site->host(0).pause(false);
  EXPECT_TRUE(site->wait(20s, [&] { return lock->deadline() == Nanos{0}; })) << "it is not told";
  const auto again = locks.acquire("still", {.wait = 20s});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_GT(again->token(), token);
}

}  // namespace
}  // namespace tempo::faults
