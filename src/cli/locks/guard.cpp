#include "cli/locks/guard.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/locks/guard_process.h"
#include "client/boot_clock.h"

namespace tempo::cli {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kMaxMargin = std::chrono::milliseconds{250};
constexpr nanoseconds kMinMargin = std::chrono::milliseconds{5};  // the shortest lease is 40 ms

// A guard that is stopped does not read: tempo must not wait for it. `attached` is a descriptor for
// the guard; -1: none.
void send_message(int line, GuardMessage message, int attached = -1) {
  iovec text{.iov_base = &message, .iov_len = sizeof message};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &text;
  header.msg_iovlen = 1;
  if (attached >= 0) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof attached);
    std::memcpy(CMSG_DATA(rights), &attached, sizeof attached);
  }
  (void)!sendmsg(line, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::string processes_text(std::size_t count) {
  return fmt::format("{} process{}", count, count == 1 ? "" : "es");
}

std::string fork_error() {
  return fmt::format(
      "cannot start a process for the command: {}; close some programs and try again",
      std::strerror(errno));
}

}  // namespace

std::optional<nanoseconds> Guard::margin_of(nanoseconds remaining) {
  const nanoseconds margin = std::clamp(remaining / 8, kMinMargin, kMaxMargin);
  if (remaining <= margin) return std::nullopt;
  return margin;
}

Result<Guard> Guard::start(const Options& options) {
  Guard guard(options);
  std::array<int, 2> line{-1, -1};
  std::array<int, 2> lifeline{-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line.data()) != 0)
    return std::unexpected(fork_error());
  guard.line_ = sys::Descriptor(line[0]);
  sys::Descriptor far_line(line[1]);
  if (pipe2(lifeline.data(), O_CLOEXEC) != 0) return std::unexpected(fork_error());
  guard.lifeline_ = sys::Descriptor(lifeline[0]);
  sys::Descriptor far_lifeline(lifeline[1]);
  guard.timer_ = sys::Descriptor(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  guard.events_ = sys::Descriptor(epoll_create1(EPOLL_CLOEXEC));
  for (const sys::Descriptor* source : {&guard.line_, &guard.timer_}) {
    epoll_event input{.events = EPOLLIN, .data = {}};
    if (epoll_ctl(guard.events_.number(), EPOLL_CTL_ADD, source->number(), &input) != 0)
      return std::unexpected(fork_error());
  }
  std::fflush(nullptr);
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans of a killed guard become children of tempo
  guard.others_ = children_of(getpid());
  guard.cgroup_ = CommandCgroup::create();
  guard.process_ = fork();
  if (guard.process_ < 0) return std::unexpected(fork_error());
  if (guard.process_ == 0) {
    guard.line_.close();
    run_guard(options, guard.cgroup_, far_line.number(), guard.lifeline_.number());
  }
  guard.wake_at(guard.deadline_ - guard.margin_ / kWrapperPart);
  return guard;
}

Guard::Guard(const Options& options)
    : command_(options.command.front()), deadline_(options.deadline), margin_(options.margin) {}

Guard::Guard(Guard&& other) noexcept
    : line_(std::move(other.line_)),
      lifeline_(std::move(other.lifeline_)),
      timer_(std::move(other.timer_)),
      events_(std::move(other.events_)),
      process_(std::exchange(other.process_, 0)),
      group_(other.group_),
      command_(std::move(other.command_)),
      error_(std::move(other.error_)),
      deadline_(other.deadline_),
      margin_(other.margin_),
      others_(std::move(other.others_)),
      cgroup_(std::move(other.cgroup_)),
      left_(std::move(other.left_)),
      takeover_(std::move(other.takeover_)) {}

Guard::~Guard() {
  line_.close();
  wait_for_guard();
}

void Guard::wait_for_guard() {
  while (process_ > 0 && waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = 0;
}

void Guard::wake_at(nanoseconds when) const {
  const itimerspec at = timer_at(when);
  timerfd_settime(timer_.number(), TFD_TIMER_ABSTIME, &at, nullptr);
}

void Guard::extend(nanoseconds deadline, int connection) {
  if (deadline < deadline_) return stop();
  deadline_ = deadline;
  if (!takeover_) wake_at(deadline_ - margin_ / kWrapperPart);
  send_message(line_.number(), {.kind = GuardMessage::Kind::extend, .value = deadline.count()},
               connection);
}

void Guard::stop() const { send_message(line_.number(), {.kind = GuardMessage::Kind::stop}); }

void Guard::signal(int number) const {
  send_message(line_.number(), {.kind = GuardMessage::Kind::signal, .value = number});
}

std::optional<Guard::Left> Guard::left() { return std::exchange(left_, std::nullopt); }

std::optional<Guard::End> Guard::ended(pid_t spared) {
  std::uint64_t expirations = 0;
  (void)!read(timer_.number(), &expirations, sizeof expirations);
  while (!takeover_) {  // at most five reports arrive
    Report report;
    const ssize_t size = recv(line_.number(), &report, sizeof report, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (size != static_cast<ssize_t>(sizeof report)) {
      take_over();
      break;
    }
    switch (report.kind) {
      case Report::Kind::begins:
        group_ = report.group;
        break;
      case Report::Kind::not_run:
        error_ = fmt::format("cannot run '{}': {}", command_, std::strerror(report.error));
        break;
      case Report::Kind::outlived:
      case Report::Kind::stuck:
        left_ = Left{.killed = report.kind == Report::Kind::stuck,
                     .processes = families_of(children_of(process_))};
        break;
      case Report::Kind::ended:
        prctl(PR_SET_CHILD_SUBREAPER, 0);
        return End{.stopped = report.stopped, .status = report.status, .error = error_};
    }
  }
  if (!takeover_ && boot_clock() >= deadline_ - margin_ / kWrapperPart) take_over();
  return takeover_ ? stop_all(spared) : std::nullopt;
}

// Orphans of the guard become children of this process.
void Guard::take_over() {
  if (process_ > 0) kill(process_, SIGKILL);
  wait_for_guard();
  line_.close();  // its end would make the descriptor readable all the time
  takeover_ = Takeover{.at = boot_clock(), .look = kFirstLook};
}

// One round: kills and reaps. There is no time for TERM.
std::optional<Guard::End> Guard::stop_all(pid_t spared) {
  Takeover& takeover = *takeover_;
  std::vector<pid_t> roots = children_of(getpid());
  std::erase_if(roots, [&](pid_t child) {
    return child == spared || std::ranges::find(others_, child) != others_.end();
  });
  std::vector<Process> living = families_of(roots);
  const bool first = std::exchange(takeover.first, false);
  if (first) takeover.by_itself = living.empty();
  const bool late = boot_clock() >= deadline_;
  if (late && !std::exchange(takeover.late, true)) takeover.ran_on = living;
  cgroup_.kill();
  signal_all(living, SIGKILL);
  bool reaped = true;
  for (const pid_t root : roots) {
    const std::string name = program_of(root);
    int status = 0;
    const bool dead = waitpid(root, &status, WNOHANG) == root;
    reaped = reaped && dead;
    const bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (!dead) continue;
    if (root == group_) takeover.status = status;
    // It ended by itself, before or after the lease.
    if (first && late && !was_killed) takeover.ran_on.push_back({.id = root, .name = name});
    if (root == group_ && was_killed) takeover.by_itself = false;
  }
  const nanoseconds now = boot_clock();
  const bool gone = living.empty() && reaped;
  if (gone || now >= std::max(deadline_, takeover.at + kStuckAfter)) {
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    cgroup_.remove();
    return End{.stopped = !takeover.by_itself || takeover.late || !takeover.status,
               .status = takeover.status.value_or(SIGKILL),
               .error = error_,
               .left = std::move(living),
               .ran_on = std::move(takeover.ran_on)};
  }
  if (!living.empty() && !takeover.said && now >= takeover.at + kStuckAfter) {
    left_ = Left{.killed = true, .processes = std::move(living)};
    takeover.said = true;
  }
  wake_at(now + takeover.look);
  takeover.look = std::min(takeover.look * 2, kLastLook);
  return std::nullopt;
}

std::string left_text(const Guard::Left& left) {
  const std::size_t count = left.processes.size();
  const std::string names = names_of(left.processes);
  if (left.killed)
    return fmt::format("{} of the command cannot be stopped and still run{}: {}",
                       processes_text(count), count == 1 ? "s" : "", names);
  return fmt::format("the command has ended, but {} of its processes still run{}: {}", count,
                     count == 1 ? "s" : "", names);
}

std::string ran_on_text(const Guard::End& end) {
  if (!end.left.empty())
    return fmt::format(
        "{} of the command could not be stopped: {}; another machine may get the lock while {}; "
        "run tempo as a user that may stop them ('sudo tempo', not 'tempo ... sudo')",
        processes_text(end.left.size()), names_of(end.left),
        end.left.size() == 1 ? "it runs" : "they run");
  return fmt::format(
      "{} of the command {} not stopped in time: {}; {} gone now, but another machine may have had "
      "the lock meanwhile",
      processes_text(end.ran_on.size()), end.ran_on.size() == 1 ? "was" : "were",
      names_of(end.ran_on), end.ran_on.size() == 1 ? "it is" : "they are");
}

int exit_status_of(const Guard::End& end) {
  return WIFSIGNALED(end.status) ? 128 + WTERMSIG(end.status) : WEXITSTATUS(end.status);
}

}  // namespace tempo::cli
