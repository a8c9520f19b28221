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
constexpr std::array kEnds{SIGINT, SIGTERM, SIGHUP};  // as tempo catches them
constexpr int kGonePolls = 10'000;                    // of a millisecond, for a group to be gone
constexpr nanoseconds kMaxMargin = std::chrono::milliseconds{250};
constexpr nanoseconds kLeastMargin = std::chrono::milliseconds{5};  // of the shortest lease's 40

struct GuardMessage {
  enum class Kind : std::uint8_t { extend, signal };
  Kind kind = Kind::extend;
  std::int64_t value = 0;
};

// To tempo: the command's group, said by the command before it runs, so that there is none that
// tempo does not know of; then its end, said by the guard. One that comes too late to run says its
// end itself, and the guard's word is not waited for.
struct Report {
  enum class Kind : std::uint8_t { begins, ended };
  Kind kind = Kind::begins;
  pid_t group = 0;
  Guard::End end{};
};

std::string error(const char* what) { return fmt::format("{}: {}", what, std::strerror(errno)); }

// In the guard. Nothing here throws, allocates much or returns to the caller's code.
class Watch {
 public:
  Watch(const Guard::Options& options, int line)
      : options_(&options), line_(line), deadline_(options.deadline) {}

  [[noreturn]] void run() {
    setpgid(0, 0);  // what the terminal sends to tempo is not for the guard
    prctl(PR_SET_NAME, "tempo-guard");
    prctl(PR_SET_CHILD_SUBREAPER, 1);  // the command's children come to us when it is gone
    std::signal(SIGTTOU, SIG_IGN);
    std::signal(SIGPIPE, SIG_IGN);
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, nullptr);
    const int ended = signalfd(-1, &children, SFD_CLOEXEC);
    const int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    if (ended < 0 || timer < 0) _exit(1);
    // A signal for the command that comes before it runs must end it, not be taken by a handler
    // that it has from tempo.
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
        for (pid_t who = 0; (who = waitpid(-1, &status, WNOHANG)) > 0;)
          if (who == child_) notify({.stopped = false, .status = status});
      }
      if ((ends[0].revents & (POLLIN | POLLHUP)) != 0 && !take_word()) stop();
      if (is_over()) stop();
    }
  }

  bool is_over() const { return boot_clock() >= deadline_ - options_->margin; }

  // On a busy machine late is too late: where it may, it goes before ordinary programs. It only
  // waits, and the command, which was started before, is as it was.
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
  bool take_word() {
    GuardMessage message;
    const ssize_t size = recv(line_, &message, sizeof message, MSG_DONTWAIT);
    if (size == 0) return false;
    if (size != static_cast<ssize_t>(sizeof message)) return size < 0 && errno == EAGAIN;
    if (message.kind == GuardMessage::Kind::extend) deadline_ = nanoseconds{message.value};
    if (message.kind == GuardMessage::Kind::signal) kill(-child_, static_cast<int>(message.value));
    return true;
  }

  // TERM, and KILL when half of the margin is left; then the connection may end.
  [[noreturn]] void stop() {
    const nanoseconds last =
        std::min(deadline_ - options_->margin / 2, boot_clock() + options_->margin / 2);
    kill(-child_, SIGTERM);
    kill(-child_, SIGCONT);  // one that was paused can take it only so
    int status = 0;
    while (!all_gone(status) && boot_clock() < last) poll(nullptr, 0, 1);
    kill(-child_, SIGKILL);
    while (!all_gone(status)) poll(nullptr, 0, 1);
    if (options_->connection >= 0) shutdown(options_->connection, SHUT_RDWR);
    notify({.stopped = true, .status = status});
  }

  bool all_gone(int& status) const {
    int one = 0;
    for (pid_t who = 0; (who = waitpid(-1, &one, WNOHANG)) > 0;)
      if (who == child_) status = one;
    return kill(-child_, 0) != 0 && errno == ESRCH;
  }

  [[noreturn]] void notify(const Guard::End& end) const {
    take_terminal(getppid() > 1 ? getpgid(getppid()) : getpgrp());
    report({.kind = Report::Kind::ended, .end = end});
    // Tempo takes in what the command leaves behind only while it may have to stop it.
    for (GuardMessage message; recv(line_, &message, sizeof message, 0) > 0;) {
    }
    _exit(0);
  }

  void report(const Report& report) const {
    (void)!send(line_, &report, sizeof report, MSG_NOSIGNAL);
  }

  // Who reads from the terminal; only if tempo did.
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
    for (const std::string& message : options_->command)
      words.push_back(const_cast<char*>(message.c_str()));
    words.push_back(nullptr);
    if (is_over()) {
      report({.kind = Report::Kind::ended, .end = {.stopped = true}});
      _exit(kCannotRun);
    }
    execvp(words.front(), words.data());
    const int error = errno;
    fmt::print(stderr, "tempo: cannot run '{}': {}\n", options_->command.front(),
               std::strerror(error));
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
  const nanoseconds margin = std::clamp(remaining / 8, kLeastMargin, kMaxMargin);
  if (remaining <= margin) return std::nullopt;
  return margin;
}

Result<Guard> Guard::start(const Options& options) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return std::unexpected(error("no guard can be started"));
  std::fflush(nullptr);
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // what a guard that is killed leaves behind comes to us
  const pid_t process = fork();
  if (process < 0) {
    close(ends[0]);
    close(ends[1]);
    return std::unexpected(error("no guard can be started"));
  }
  if (process == 0) {
    close(ends[0]);
    Watch(options, ends[1]).run();
  }
  close(ends[1]);
  return Guard(ends[0], process);
}

Guard::Guard(Guard&& other) noexcept
    : line_(std::exchange(other.line_, -1)),
      process_(std::exchange(other.process_, 0)),
      group_(other.group_) {}

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
  for (;;) {  // at most three reports come
    Report report;
    const ssize_t size = recv(line_, &report, sizeof report, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
    if (size != static_cast<ssize_t>(sizeof report)) break;
    if (report.kind == Report::Kind::ended) {
      prctl(PR_SET_CHILD_SUBREAPER, 0);
      return report.end;
    }
    group_ = report.group;
  }
  stop_group();
  return End{.stopped = true, .status = SIGKILL};
}

// The lock is still held, but nobody watches over its lease: no time for TERM.
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
