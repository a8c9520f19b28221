#include "cli/locks/guard.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/boot_clock.h"

namespace tempo::cli {
namespace {

using std::chrono::nanoseconds;

constexpr int kNotFound = 127;
constexpr int kCannotRun = 126;
constexpr std::array kEnds{SIGINT, SIGTERM, SIGHUP};  // tempo has handlers for them
constexpr int kGonePolls = 10'000;                    // of 1 ms, until the group is gone
constexpr nanoseconds kMaxMargin = std::chrono::milliseconds{250};
constexpr nanoseconds kMinMargin = std::chrono::milliseconds{5};  // the shortest lease is 40 ms

struct GuardMessage {
  enum class Kind : std::uint8_t { extend, signal };
  Kind kind = Kind::extend;
  std::int64_t value = 0;
};

// Message to tempo. The process that becomes the command sends its process group before it runs the
// command, so that tempo knows every group that exists, and the reason if it cannot run it. The
// guard sends the end. A command that is too late to run sends its end itself; tempo does not wait
// for the guard's message then.
struct Report {
  enum class Kind : std::uint8_t { begins, not_run, ended };
  Kind kind = Kind::begins;
  pid_t group = 0;       // begins
  int error = 0;         // not_run: errno
  bool stopped = false;  // ended: see Guard::End
  int status = 0;        // ended: of wait()
};

std::string fork_error() {
  return fmt::format(
      "cannot start a process for the command: {}; close some programs and try again",
      std::strerror(errno));
}

// The guard's side. Nothing here throws, allocates much or returns to the caller's code.
class Watch {
 public:
  Watch(const Guard::Options& options, int line)
      : options_(&options), line_(line), deadline_(options.deadline) {}

  [[noreturn]] void run() {
    setpgid(0, 0);  // signals of the terminal go to tempo, not to the guard
    prctl(PR_SET_NAME, "tempo-guard");
    prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans of the command become children of the guard
    std::signal(SIGTTOU, SIG_IGN);
    std::signal(SIGPIPE, SIG_IGN);
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, nullptr);
    const int ended = signalfd(-1, &children, SFD_CLOEXEC);
    const int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    if (ended < 0 || timer < 0) _exit(1);
    // A signal that arrives before the command runs must end it; the handlers inherited from tempo
    // must not catch it.
    sigset_t ends;
    sigemptyset(&ends);
    for (const int number : kEnds) sigaddset(&ends, number);
    sigprocmask(SIG_BLOCK, &ends, nullptr);
    const pid_t guard = getpid();
    child_ = fork();
    if (child_ < 0) _exit(1);
    if (child_ == 0) {
      for (const int number : kEnds) std::signal(number, SIG_DFL);
      sigprocmask(SIG_UNBLOCK, &ends, nullptr);
      become_command(children, guard);
    }
    sigprocmask(SIG_UNBLOCK, &ends, nullptr);
    setpgid(child_, child_);
    take_terminal(child_);
    be_urgent();
    watch(ended, timer);
  }

 private:
  [[noreturn]] void watch(int ended, int timer) {
    for (;;) {
      set(timer);
      std::array<pollfd, 3> ends{{{line_, POLLIN, 0}, {ended, POLLIN, 0}, {timer, POLLIN, 0}}};
      if (poll(ends.data(), ends.size(), -1) < 0 && errno != EINTR) stop();
      if ((ends[1].revents & POLLIN) != 0) {
        signalfd_siginfo info{};
        (void)!read(ended, &info, sizeof info);
        int status = 0;
        for (pid_t child = 0; (child = waitpid(-1, &status, WNOHANG)) > 0;)
          if (child == child_) notify_end(/*stopped=*/false, status);
      }
      if ((ends[0].revents & (POLLIN | POLLHUP)) != 0 && !take_message()) stop();
      if (is_over()) stop();
    }
  }

  bool is_over() const { return boot_clock() >= deadline_ - options_->margin; }

  // The guard must not be late on a busy machine: with the right to do so it gets a realtime
  // priority. It only waits, and the command, which is already started, keeps its priority.
  static void be_urgent() {
    const sched_param urgent{.sched_priority = 1};
    (void)sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &urgent);
  }

  void set(int timer) const {
    const nanoseconds when = std::max(deadline_ - options_->margin, nanoseconds{1});
    itimerspec at{};
    at.it_value.tv_sec = std::chrono::floor<std::chrono::seconds>(when).count();
    at.it_value.tv_nsec = (when % std::chrono::seconds{1}).count();
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, nullptr);
  }

  // False: tempo is gone.
  bool take_message() {
    GuardMessage message;
    const ssize_t size = recv(line_, &message, sizeof message, MSG_DONTWAIT);
    if (size == 0) return false;
    if (size != static_cast<ssize_t>(sizeof message)) return size < 0 && errno == EAGAIN;
    if (message.kind == GuardMessage::Kind::extend) deadline_ = nanoseconds{message.value};
    if (message.kind == GuardMessage::Kind::signal) kill(-child_, static_cast<int>(message.value));
    return true;
  }

  // TERM, and KILL when half of the margin is left; then closes the connection to tempod.
  [[noreturn]] void stop() {
    const nanoseconds last =
        std::min(deadline_ - options_->margin / 2, boot_clock() + options_->margin / 2);
    kill(-child_, SIGTERM);
    kill(-child_, SIGCONT);  // a stopped process handles TERM only after this
    int status = 0;
    while (!all_gone(status) && boot_clock() < last) poll(nullptr, 0, 1);
    kill(-child_, SIGKILL);
    while (!all_gone(status)) poll(nullptr, 0, 1);
    if (options_->connection >= 0) shutdown(options_->connection, SHUT_RDWR);
    notify_end(/*stopped=*/true, status);
  }

  bool all_gone(int& status) const {
    int one = 0;
    for (pid_t child = 0; (child = waitpid(-1, &one, WNOHANG)) > 0;)
      if (child == child_) status = one;
    return kill(-child_, 0) != 0 && errno == ESRCH;
  }

  [[noreturn]] void notify_end(bool stopped, int status) const {
    take_terminal(getppid() > 1 ? getpgid(getppid()) : getpgrp());
    report({.kind = Report::Kind::ended, .stopped = stopped, .status = status});
    // The guard stays until tempo has read the report: tempo adopts orphans of the command only
    // until then.
    for (GuardMessage message; recv(line_, &message, sizeof message, 0) > 0;) {
    }
    _exit(0);
  }

  void report(const Report& report) const {
    (void)!send(line_, &report, sizeof report, MSG_NOSIGNAL);
  }

  // Makes `group` the foreground group of the terminal, if tempo was in the foreground.
  void take_terminal(pid_t group) const {
    if (had_terminal_) tcsetpgrp(STDIN_FILENO, group);
  }

  [[noreturn]] void become_command(const sigset_t& children, pid_t guard) const {
    setpgid(0, 0);
    take_terminal(getpgrp());
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guard) _exit(kCannotRun);
    report({.kind = Report::Kind::begins, .group = getpgrp()});
    std::signal(SIGTTOU, SIG_DFL);
    std::signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &children, nullptr);
    for (const auto& [name, value] : options_->environment) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> words;
    for (const std::string& word : options_->command)
      words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    if (is_over()) {
      report({.kind = Report::Kind::ended, .stopped = true});
      _exit(kCannotRun);
    }
    execvp(words.front(), words.data());
    const int error = errno;
    report({.kind = Report::Kind::not_run, .error = error});
    _exit(error == ENOENT ? kNotFound : kCannotRun);
  }

  const Guard::Options* options_;
  int line_;
  nanoseconds deadline_;
  pid_t child_ = 0;
  bool had_terminal_ = isatty(STDIN_FILENO) != 0 && tcgetpgrp(STDIN_FILENO) == getpgrp();
};

}  // namespace

std::optional<nanoseconds> Guard::margin_of(nanoseconds remaining) {
  const nanoseconds margin = std::clamp(remaining / 8, kMinMargin, kMaxMargin);
  if (remaining <= margin) return std::nullopt;
  return margin;
}

Result<Guard> Guard::start(const Options& options) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return std::unexpected(fork_error());
  std::fflush(nullptr);
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans of a killed guard become children of tempo
  const pid_t process = fork();
  if (process < 0) {
    close(ends[0]);
    close(ends[1]);
    return std::unexpected(fork_error());
  }
  if (process == 0) {
    close(ends[0]);
    Watch(options, ends[1]).run();
  }
  close(ends[1]);
  return Guard(ends[0], process, options.command.front());
}

Guard::Guard(Guard&& other) noexcept
    : line_(std::exchange(other.line_, -1)),
      process_(std::exchange(other.process_, 0)),
      group_(other.group_),
      command_(std::move(other.command_)),
      error_(std::move(other.error_)) {}

Guard::~Guard() {
  if (line_ < 0) return;
  close(line_);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Guard::extend(nanoseconds deadline) const {
  const GuardMessage message{.kind = GuardMessage::Kind::extend, .value = deadline.count()};
  (void)!send(line_, &message, sizeof message, MSG_NOSIGNAL);
}

void Guard::signal(int number) const {
  const GuardMessage message{.kind = GuardMessage::Kind::signal, .value = number};
  (void)!send(line_, &message, sizeof message, MSG_NOSIGNAL);
}

std::optional<Guard::End> Guard::ended() {
  for (;;) {  // at most three reports arrive
    Report report;
    const ssize_t size = recv(line_, &report, sizeof report, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
    if (size != static_cast<ssize_t>(sizeof report)) break;
    if (report.kind == Report::Kind::ended) {
      prctl(PR_SET_CHILD_SUBREAPER, 0);
      return End{.stopped = report.stopped, .status = report.status, .error = error_};
    }
    if (report.kind == Report::Kind::not_run)
      error_ = fmt::format("cannot run '{}': {}", command_, std::strerror(report.error));
    else
      group_ = report.group;
  }
  stop_group();
  return End{.stopped = true, .status = SIGKILL};
}

// The lock is still held, but no guard watches its lease: there is no time for TERM.
void Guard::stop_group() const {
  if (group_ == 0) return;
  for (int i = 0; i < kGonePolls && kill(-group_, SIGKILL) == 0; ++i) {
    while (waitpid(-group_, nullptr, WNOHANG) > 0) {
    }
    poll(nullptr, 0, 1);
  }
}

int exit_status_of(const Guard::End& end) {
  return WIFSIGNALED(end.status) ? 128 + WTERMSIG(end.status) : WEXITSTATUS(end.status);
}

}  // namespace tempo::cli
