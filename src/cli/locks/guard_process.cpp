#include "cli/locks/guard_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/locks/processes.h"
#include "client/boot_clock.h"

namespace tempo::cli {
namespace {

using std::chrono::nanoseconds;

constexpr int kNotFound = 127;
constexpr int kCannotRun = 126;
constexpr std::array kEnds{SIGINT, SIGTERM, SIGHUP};  // tempo has handlers for them
// Processes that run for this long after the end of the command are reported.
constexpr nanoseconds kOutlivedAfter = std::chrono::seconds{1};

// Nothing here throws, allocates much or returns to the caller's code.
class Watch {
 public:
  Watch(const Guard::Options& options, const CommandCgroup& cgroup, int line, int lifeline)
      : options_(&options),
        cgroup_(&cgroup),
        line_(line),
        lifeline_(lifeline),
        connection_(options.connection),
        deadline_(options.deadline) {}

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
    sigevent end{};
    end.sigev_notify = SIGEV_SIGNAL;
    end.sigev_signo = SIGKILL;
    if (ended < 0 || timer < 0 || timer_create(CLOCK_BOOTTIME, &end, &own_end_) != 0) _exit(1);
    set_own_end();
    // A signal that arrives before the command runs must end it; the handlers inherited from tempo
    // must not catch it.
    sigset_t ends;
    sigemptyset(&ends);
    for (const int number : kEnds) sigaddset(&ends, number);
    sigprocmask(SIG_BLOCK, &ends, nullptr);
    const pid_t guard = getpid();
    child_ = cgroup_->fork();
    if (child_ < 0) _exit(1);
    if (child_ == 0) {
      for (const int number : kEnds) std::signal(number, SIG_DFL);
      sigprocmask(SIG_UNBLOCK, &ends, nullptr);
      become_command(children, guard);
    }
    sigprocmask(SIG_UNBLOCK, &ends, nullptr);
    close(lifeline_);
    setpgid(child_, child_);
    take_terminal(child_);
    be_urgent();
    watch(ended, timer);
  }

 private:
  [[noreturn]] void watch(int ended, int timer) {
    for (;;) {
      nanoseconds wake = deadline_ - options_->margin;
      if (report_at_) wake = std::min(wake, *report_at_);
      const itimerspec at = timer_at(wake);
      timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, nullptr);
      std::array<pollfd, 3> ends{{{line_, POLLIN, 0}, {ended, POLLIN, 0}, {timer, POLLIN, 0}}};
      if (poll(ends.data(), ends.size(), -1) < 0 && errno != EINTR) stop();
      if ((ends[1].revents & POLLIN) != 0) {
        signalfd_siginfo info{};
        (void)!read(ended, &info, sizeof info);
        if (all_gone()) notify_end(/*stopped=*/false);
        if (command_ended_ && !report_at_) report_at_ = boot_clock() + kOutlivedAfter;
      }
      if (report_at_ && boot_clock() >= *report_at_) {
        report({.kind = Report::Kind::outlived});
        report_at_ = nanoseconds::max();
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

  // The kernel ends the guard at this time even if the guard is stopped or does not run. The time
  // is absolute, so that a late call cannot extend it.
  void set_own_end() const {
    const itimerspec at = timer_at(deadline_ - options_->margin / kKernelPart);
    timer_settime(own_end_, TIMER_ABSTIME, &at, nullptr);
  }

  // The result of recvmsg(2). An attached descriptor is the new connection to tempod.
  ssize_t receive(GuardMessage& message) {
    iovec text{.iov_base = &message, .iov_len = sizeof message};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr header{};
    header.msg_iov = &text;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    const ssize_t size = recvmsg(line_, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const cmsghdr* const rights = size > 0 ? CMSG_FIRSTHDR(&header) : nullptr;
    if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return size;
    close(connection_);
    std::memcpy(&connection_, CMSG_DATA(rights), sizeof connection_);
    return size;
  }

  // False: tempo is gone, or orders the command to stop.
  bool take_message() {
    GuardMessage message;
    const ssize_t size = receive(message);
    if (size == 0) return false;
    if (size != static_cast<ssize_t>(sizeof message)) return size < 0 && errno == EAGAIN;
    switch (message.kind) {
      case GuardMessage::Kind::extend:
        deadline_ = nanoseconds{message.value};
        set_own_end();
        return true;
      case GuardMessage::Kind::stop:
        return false;
      case GuardMessage::Kind::signal:
        signal_command(static_cast<int>(message.value));
        return true;
    }
    return false;
  }

  // After the end of the command its remaining processes receive the signal.
  void signal_command(int number) const {
    if (!command_ended_)
      kill(-child_, number);
    else
      signal_all(families_of(children_of(getpid())), number);
  }

  // TERM, and KILL when half of the margin is left; then closes the connection to tempod. A process
  // that cannot be killed keeps the connection open.
  [[noreturn]] void stop() {
    const nanoseconds last =
        std::min(deadline_ - options_->margin / 2, boot_clock() + options_->margin / 2);
    // A stopped process handles TERM only after CONT.
    for (const int number : {SIGTERM, SIGCONT}) {
      if (!command_ended_) kill(-child_, number);
      for (const Process& process : families_of(children_of(getpid())))
        if (command_ended_ || getpgid(process.id) != child_) kill(process.id, number);
    }
    while (!all_gone() && boot_clock() < last) poll(nullptr, 0, 1);
    nanoseconds look = kFirstLook;
    bool reported = false;
    for (const nanoseconds killed = boot_clock();; look = std::min(look * 2, kLastLook)) {
      cgroup_->kill();
      if (!command_ended_) kill(-child_, SIGKILL);
      signal_all(families_of(children_of(getpid())), SIGKILL);
      if (all_gone()) break;
      poll(nullptr, 0, static_cast<int>(look / std::chrono::milliseconds{1}));
      if (all_gone()) break;
      if (!reported && boot_clock() >= killed + kStuckAfter) {
        report({.kind = Report::Kind::stuck});
        reported = true;
      }
    }
    if (connection_ >= 0) shutdown(connection_, SHUT_RDWR);
    notify_end(/*stopped=*/true);
  }

  // Reaps. Every descendant is the child of a living process, the guard if of no other: without
  // children the guard has no descendants.
  bool all_gone() {
    int status = 0;
    pid_t child = 0;
    while ((child = waitpid(-1, &status, WNOHANG)) > 0) {
      if (child != child_) continue;
      command_ended_ = true;
      status_ = status;
    }
    return child < 0 && errno == ECHILD;
  }

  [[noreturn]] void notify_end(bool stopped) const {
    cgroup_->remove();
    take_terminal(getppid() > 1 ? getpgid(getppid()) : getpgrp());
    report({.kind = Report::Kind::ended, .stopped = stopped, .status = status_});
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

  // The kernel kills the process group when the guard, the only process with the other end of the
  // lifeline, ends: nobody else has to run for it.
  void tie_to_guard() const {
    fcntl(lifeline_, F_SETOWN, -getpgrp());
    fcntl(lifeline_, F_SETSIG, SIGKILL);
    fcntl(lifeline_, F_SETFL, O_ASYNC);
  }

  [[noreturn]] void become_command(const sigset_t& children, pid_t guard) const {
    setpgid(0, 0);
    take_terminal(getpgrp());
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    tie_to_guard();
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
  const CommandCgroup* cgroup_;
  int line_;
  int lifeline_;    // tempo's end
  int connection_;  // to tempod; -1: none
  nanoseconds deadline_;
  timer_t own_end_{};
  pid_t child_ = 0;
  bool command_ended_ = false;
  int status_ = 0;                        // of the command, after its end
  std::optional<nanoseconds> report_at_;  // when to report processes that outlive the command
  bool had_terminal_ = isatty(STDIN_FILENO) != 0 && tcgetpgrp(STDIN_FILENO) == getpgrp();
};

}  // namespace

itimerspec timer_at(nanoseconds when) {
  when = std::max(when, nanoseconds{1});  // zero would disarm the timer
  itimerspec at{};
  at.it_value.tv_sec = std::chrono::floor<std::chrono::seconds>(when).count();
  at.it_value.tv_nsec = (when % std::chrono::seconds{1}).count();
  return at;
}

void run_guard(const Guard::Options& options, const CommandCgroup& cgroup, int line, int lifeline) {
  Watch(options, cgroup, line, lifeline).run();
}

}  // namespace tempo::cli
