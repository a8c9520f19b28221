// A lock that a command holds on one of three real daemons, for tests that stop or kill the
// command's keepers: leases of one second, a holder on the first host, a waiting command on the
// second.
#pragma once

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/control_protocol.h"
#include "client/client.h"
#include "platform/clocks/boot_clock.h"
#include "stamps.h"
#include "support/site.h"

namespace tempo::faults {

inline constexpr std::uint32_t kHosts = 3;
inline constexpr Nanos kLease = 1s;
inline constexpr Nanos kLong = 600s;  // longer than any test
inline constexpr int kLost = 101;     // exit status of `tempo lock` after it lost the lock

// A child process; the destructor kills it.
class Program {
 public:
  // stderr_file receives its standard error.
  explicit Program(const std::vector<std::string>& command,
                   const std::string& stderr_file = "/dev/null") {
    std::vector<char*> arguments;
    for (const std::string& argument : command)
      arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    process_ = fork();
    if (process_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int file = open(stderr_file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
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
  // Its exit status; 1000 + the signal if a signal ended it.
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

inline std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

inline pid_t child_of(pid_t process) {
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", process));
  pid_t child = 0;
  children >> child;
  return child;
}

class LockTrial : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    skip_reason = testbed::Site::obstacle();
    if (!skip_reason.empty()) return;
    site = std::make_unique<testbed::Site>(testbed::Site::Options{
        .tempod = TEMPO_TEMPOD,
        .profile = "fast",
        .realtime = true,  // as packaged: a lease of one second must survive a busy machine
        .arguments = {"--set", fmt::format("locks.expect={}", kHosts), "--set",
                      fmt::format("locks.lease-ms={}", kLease / 1ms)}});
    for (std::uint32_t i = 0; i < kHosts; ++i) site->add();
    site->start_all();
  }
  static void TearDownTestSuite() { site.reset(); }
  void SetUp() override {
    if (!skip_reason.empty()) GTEST_SKIP() << skip_reason;
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
                                             const StampOptions& command) {
    std::vector<std::string> arguments{TEMPO_BINARY, "lock", "--socket", site->host(host).socket(),
                                       name,         "--"};
    for (std::string& argument : stamp_command(command)) arguments.push_back(std::move(argument));
    return arguments;
  }

  struct Injection {
    std::function<void(const Program&)> begin;
    std::function<void(const Program&)> end = [](const Program&) {};
    bool ignore_term = false;  // the command ignores SIGTERM
  };
  struct Outcome {
    int status = 0;    // exit status of the holder's wrapper
    Nanos overlap{0};  // time in which both commands ran
    Nanos gap{0};      // from the fault to the start of the waiting command
  };
  // One trial.
  static Outcome run_trial(const Injection& fault) {
    static int trials = 0;
    const std::string name = fmt::format("trial-{}", ++trials);
    const std::string file = site->directory() + '/' + name;
    Program holder(under_lock(
        0, name, {.file = file + "-a", .span = kLong, .ignore_term = fault.ignore_term}));
    EXPECT_TRUE(site->wait(20s, [&] { return stamps_in(file + "-a").has_value(); }));
    Program other(under_lock(1, name, {.file = file + "-b", .span = 20ms}));
    EXPECT_TRUE(site->wait(20s, [&] { return waits(1, name); }));
    EXPECT_FALSE(stamps_in(file + "-b")) << "both run before the fault";
    const BootTime injected = sys::boot_clock();
    fault.begin(holder);
    EXPECT_EQ(other.wait(), 0);
    fault.end(holder);
    Outcome outcome{.status = holder.wait()};
    const auto first = stamps_in(file + "-a");
    const auto second = stamps_in(file + "-b");
    EXPECT_TRUE(first && second);
    if (!first || !second) return outcome;
    EXPECT_GE(second->last - second->first, 20ms) << "the second command was stopped early";
    outcome.overlap = std::max(first->last - second->first, Nanos{0});
    outcome.gap = second->first - injected;
    return outcome;
  }
  // Clients of this host that hold the lock or wait for it.
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
    return std::ranges::any_of(clients(host, name),
                               [](const auto& client) { return !client.inside; });
  }
  static bool holds(std::uint32_t host, const std::string& name) {
    return std::ranges::any_of(clients(host, name),
                               [](const auto& client) { return client.inside; });
  }

  inline static std::unique_ptr<testbed::Site> site;
  inline static std::string skip_reason;
};

}  // namespace tempo::faults
