#include "services/vip/check_runner.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/clocks/boot_clock.h"
#include "platform/confinement.h"

namespace tempo::vip {
namespace {

constexpr int kRoundMs = 20;  // between two looks at the running commands

struct Outcome {
  std::uint8_t check = 0;
  std::uint8_t passed = 0;
};

struct Running {
  pid_t process = 0;  // 0: not running
  BootTime since{};
  BootTime next{};
};

pid_t run_command(const std::string& command) {
  const pid_t child = fork();
  if (child != 0) return child;
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nothing = open("/dev/null", O_RDWR);
  for (const int descriptor : {0, 1}) dup2(nothing, descriptor);
  execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
  _exit(127);
}

// Whether the run is over; then whether it passed.
std::optional<bool> result_of(const Running& running, BootTime now) {
  int status = 0;
  if (waitpid(running.process, &status, WNOHANG) == running.process)
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (now - running.since < CheckRunner::kLimit) return std::nullopt;
  kill(-running.process, SIGKILL);
  waitpid(running.process, &status, 0);
  return false;
}

[[noreturn]] void run_checks(const std::vector<CheckRunner::Check>& checks, int results) {
  std::vector<Running> all(checks.size());
  for (;;) {
    const BootTime now = sys::boot_clock();
    for (std::size_t i = 0; i < all.size(); ++i) {
      Running& one = all[i];
      if (one.process <= 0) {
        if (now < one.next) continue;
        one = {.process = run_command(checks[i].command),
               .since = now,
               .next = now + checks[i].interval};
        continue;
      }
      const auto passed = result_of(one, now);
      if (!passed) continue;
      one.process = 0;
      const Outcome result{static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(*passed)};
      if (write(results, &result, sizeof result) != sizeof result && errno != EAGAIN) _exit(0);
    }
    pollfd end{.fd = results, .events = POLLIN, .revents = 0};
    if (poll(&end, 1, kRoundMs) > 0) {  // the parent has closed its end
      for (const Running& one : all)
        if (one.process > 0) kill(-one.process, SIGKILL);
      _exit(0);
    }
  }
}

}  // namespace

Result<CheckRunner> CheckRunner::start(std::vector<Check> checks, const std::string& user) {
  CheckRunner runner;
  if (checks.empty()) return runner;
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0)
    return sys::failure("start the checks");
  const pid_t child = fork();
  if (child < 0) return sys::failure("start the checks");
  if (child == 0) {
    // The sockets of tempo-vip are not for checks.
    close_range(3, static_cast<unsigned>(ends[1]) - 1, 0);
    close_range(static_cast<unsigned>(ends[1]) + 1, ~0U, 0);
    for (const int signal : {SIGTERM, SIGINT}) std::signal(signal, SIG_DFL);
    std::signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (!sys::drop_privileges({.user = user, .set_clock = false, .bind_low_port = false})) _exit(1);
    run_checks(checks, ends[1]);
  }
  close(ends[1]);
  runner.results_ = sys::Descriptor(ends[0]);
  return runner;
}

bool CheckRunner::take(const std::function<void(std::size_t, bool)>& each) const {
  if (results_.none()) return true;
  for (;;) {
    Outcome result;
    const ssize_t got = recv(results_.number(), &result, sizeof result, MSG_DONTWAIT);
    if (got == sizeof result)
      each(result.check, result.passed != 0);
    else
      return got < 0 && (errno == EAGAIN || errno == EINTR);
  }
}

}  // namespace tempo::vip
