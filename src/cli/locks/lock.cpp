#include "cli/locks/lock.h"

#include <array>
#include <chrono>
#include <utility>

#include <fmt/core.h>
#include <poll.h>

#include "base/span_text.h"
#include "cli/common/choice.h"
#include "cli/common/exit_codes.h"
#include "cli/common/noted_signals.h"
#include "cli/locks/guard.h"
#include "tempo/lock.h"

namespace tempo::cli {
namespace {

using std::chrono::nanoseconds;

struct KindName {
  const char* name;
  LockKind kind;
};
constexpr std::array<KindName, 3> kKinds{{{"lease", LockKind::lease},
                                          {"silent", LockKind::silent},
                                          {"explicit", LockKind::explicit_replies}}};

int exit_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::timed_out:
      return kNotObtained;
    case ErrorCode::no_daemon:
      return kLockNoDaemon;
    case ErrorCode::cancelled:
      return kInterrupted;
    case ErrorCode::not_allowed:
    case ErrorCode::refused:
      break;
  }
  return kLockRefused;
}

Result<AcquireOptions, int> options_of(const LockArguments& arguments) {
  AcquireOptions options{.shared = arguments.shared};
  const auto kind = chosen("--kind", kKinds, arguments.kind, &KindName::name);
  if (!kind) return std::unexpected(print_error(kBadUsage, kind.error()));
  options.kind = kind->kind;
  if (arguments.no_wait && !arguments.wait.empty())
    return std::unexpected(print_error(kBadUsage, "give --wait or --no-wait, not both"));
  if (arguments.no_wait) options.wait = nanoseconds{0};
  if (!arguments.wait.empty()) {
    TRY(wait, span_of(arguments.wait, "--wait"));
    options.wait = wait;
  }
  if (!arguments.lease.empty()) {
    if (options.kind != LockKind::lease)
      return std::unexpected(print_error(kBadUsage, "--lease is for locks of kind lease alone"));
    TRY(lease, span_of(arguments.lease, "--lease"));
    if (lease <= nanoseconds{0})
      return std::unexpected(print_error(kBadUsage, "--lease: give a span above 0, such as 10s"));
    options.lease = lease;
  }
  return options;
}

// Until the command has ended: news of the lock goes to the guard, signals to the command.
Guard::End watch(Guard& guard, Lock& lock, int connection) {
  nanoseconds deadline = lock.deadline();
  for (;;) {
    std::array<pollfd, 2> ends{{{guard.descriptor(), POLLIN, 0}, {connection, POLLIN, 0}}};
    poll(ends.data(), ends.size(), -1);
    if (const int number = noted_signal()) guard.signal(number);
    if (const auto end = guard.ended()) return *end;
    if (ends[1].revents == 0) continue;
    const nanoseconds now = lock.deadline();
    if (now != deadline) guard.extend(now);
    deadline = now;
    if ((ends[1].revents & (POLLHUP | POLLERR)) != 0) connection = -1;  // what it had it keeps
  }
}

}  // namespace

int lock(const LockArguments& arguments) {
  const auto options = options_of(arguments);
  if (!options) return options.error();
  const auto timeout = span_of(arguments.timeout, "--timeout");
  if (!timeout) return timeout.error();
  auto locks = Locks::connect(arguments.socket, *timeout);
  if (!locks) return print_error(exit_of(locks.error()), locks.error().message);
  auto taken = locks->acquire(arguments.name, *options);
  if (!taken) return print_error(exit_of(taken.error()), taken.error().message);
  note_signals();
  // While this waited it may have been stopped, the lock given to it, and then lost.
  const auto margin = Guard::margin_of(taken->remaining());
  if (!margin)
    return print_error(kLockLost,
                       fmt::format("the lock '{}' was lost again before it could be used; "
                                   "the command was not started",
                                   arguments.name));
  // Only a lease has a token; one of a lock around this one would be taken for it.
  unsetenv("TEMPO_LOCK_TOKEN");
  std::vector<std::pair<std::string, std::string>> environment{{"TEMPO_LOCK_NAME", arguments.name}};
  if (taken->token() != 0)
    environment.emplace_back("TEMPO_LOCK_TOKEN", fmt::format("{}", taken->token()));
  auto guard = Guard::start({.command = arguments.command,
                             .environment = std::move(environment),
                             .connection = locks->descriptor(),
                             .deadline = taken->deadline(),
                             .margin = *margin});
  if (!guard) return print_error(kLockRefused, guard.error());
  const Guard::End end = watch(*guard, *taken, locks->descriptor());
  if (end.stopped)
    return print_error(kLockLost, fmt::format("the lock '{}' could not be kept; the command was "
                                              "stopped before another could have it",
                                              arguments.name));
  return exit_status_of(end);
}

}  // namespace tempo::cli
