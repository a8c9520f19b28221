// A tempod that gets a signal while it starts ends, and leaves no process behind.
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "lock_hosts.h"
#include "program.h"

namespace tempo {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr int kTrials = 60;
constexpr Nanos kBeginning = 40ms;  // duration of the start
constexpr Nanos kWorkersBeginning = 1ms;

// tempod and its children, in a process group of their own.
class Daemon {
 public:
  explicit Daemon(const std::string& directory) {
    const Words words = words_of(fmt::format(
        "{0} --config /dev/null --cluster early-{1} --profile fast --port {2} --clock none "
        "--state-dir {3} --socket {3}/sock --set user=\"\" --set key-file=\"\" --set "
        "bind=[\"127.0.0.1\"] --set realtime=false",
        TEMPO_TEMPOD, getpid(), 20'000 + getpid() % 10'000, directory));
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    id_ = fork();
    if (id_ != 0) return;
    setpgid(0, 0);
    const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (const int standard : {STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, standard);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  ~Daemon() {
    kill(-id_, SIGKILL);
    if (!ended_) waitpid(id_, nullptr, 0);
  }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  pid_t id() const { return id_; }
  bool ended() { return ended_ = ended_ || waitpid(id_, &status_, WNOHANG) == id_; }
  int status() const { return status_; }  // as wait() reports it
  // This process adopts the children that tempod leaves behind; none may remain after it has ended.
  bool leaves_nobody() const {
    while (waitpid(-id_, nullptr, WNOHANG) > 0) {
    }
    return kill(-id_, 0) != 0 && errno == ESRCH;
  }

 private:
  pid_t id_ = 0;
  int status_ = 0;
  bool ended_ = false;
};

// Busy-waits: a sleep is coarser than the moments under test.
void spin(Nanos span) {
  for (const auto end = steady_clock::now() + span; steady_clock::now() < end;) {
  }
}

class EarlyEnd : public testing::Test {
 protected:
  void SetUp() override {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    std::string pattern = (std::filesystem::temp_directory_path() / "tempo-early-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override {
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    std::filesystem::remove_all(directory_);
  }

  void expect_end(Daemon& daemon, int trial) const {
    kill(daemon.id(), SIGTERM);
    ASSERT_TRUE(wait_for(20s, [&] { return daemon.ended(); })) << "trial " << trial;
    EXPECT_TRUE(daemon.leaves_nobody()) << "trial " << trial;
    // Before tempod handles signals, they kill it; afterwards it exits by itself.
    const int status = daemon.status();
    EXPECT_TRUE(WIFSIGNALED(status) ? WTERMSIG(status) == SIGTERM : WEXITSTATUS(status) == 0)
        << "trial " << trial << ": " << status;
  }

  std::string directory_;
  Stream chance_{1, 0, 0};
};

TEST_F(EarlyEnd, EndsAtAnyMoment) {
  for (int i = 0; i < kTrials; ++i) {
    Daemon daemon(directory_);
    spin(chance_.uniform(Nanos{0}, kBeginning));
    expect_end(daemon, i);
    if (HasFatalFailure()) return;
  }
}

TEST_F(EarlyEnd, EndsWhileTheWorkerStarts) {
  for (int i = 0; i < kTrials; ++i) {
    Daemon daemon(directory_);
    const auto limit = steady_clock::now() + 20s;
    while (child_of(daemon.id()) == 0 && steady_clock::now() < limit) {
    }
    ASSERT_NE(child_of(daemon.id()), 0) << "it has not begun in trial " << i;
    spin(chance_.uniform(Nanos{0}, kWorkersBeginning));
    expect_end(daemon, i);
    if (HasFatalFailure()) return;
  }
}

// When the parent is killed, the worker ends too, even while it starts.
TEST_F(EarlyEnd, EndsTheWorkerWithTheParent) {
  for (int i = 0; i < kTrials; ++i) {
    Daemon daemon(directory_);
    const auto limit = steady_clock::now() + 20s;
    while (child_of(daemon.id()) == 0 && steady_clock::now() < limit) {
    }
    spin(i % 2 == 0 ? Nanos{0} : chance_.uniform(Nanos{0}, kWorkersBeginning));
    kill(daemon.id(), SIGKILL);
    ASSERT_TRUE(wait_for(20s, [&] { return daemon.ended(); }));
    EXPECT_TRUE(wait_for(20s, [&] { return daemon.leaves_nobody(); })) << "trial " << i;
  }
}

}  // namespace
}  // namespace tempo
