#include "cli/locks/lock.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <utility>

#include <fmt/core.h>
#include <poll.h>

#include "base/span_text.h"
#include "cli/common/choice.h"
#include "cli/common/exit_codes.h"
#include "cli/common/noted_signals.h"
#include "cli/common/output.h"
#include "cli/locks/guard.h"
#include "cli/locks/lock_wait.h"
#include "tempo/lock.h"

namespace tempo::cli {
namespace {

using std::chrono::nanoseconds;

constexpr int kLookAgainMs = 5;

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
    case ErrorCode::bad_request:
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
      return std::unexpected(print_error(kBadUsage, "--lease is only for locks of --kind lease"));
    TRY(lease, span_of(arguments.lease, "--lease"));
    if (lease <= nanoseconds{0})
      return std::unexpected(
          print_error(kBadUsage, "--lease must be longer than 0; give e.g. --lease 10s"));
    options.lease = lease;
  }
  return options;
}

// A lock and the command that runs while it is held.
class LockRun {
 public:
  LockRun(const LockArguments& arguments, const AcquireOptions& options, Locks locks)
      : arguments_(&arguments), options_(options), locks_(std::move(locks)) {}

  int run() {
    note_signals();
    auto lock = acquire();
    if (!lock) return lock.error();
    print_state(taken_state(*lock));
    // tempo may have been stopped while it waited, and the lease may be over by now.
    const auto margin = Guard::margin_of(lock->remaining());
    if (!margin) {
      print_state(state("lost"));
      return print_error(kLockLost,
                         fmt::format("lock '{}' was lost before the command started; the command "
                                     "was not run",
                                     arguments_->name));
    }
    // Only a lease has a token. A token inherited from an enclosing 'tempo lock' is of another
    // lock.
    unsetenv("TEMPO_LOCK_TOKEN");
    std::vector<std::pair<std::string, std::string>> environment{
        {"TEMPO_LOCK_NAME", arguments_->name}};
    if (lock->token() != 0)
      environment.emplace_back("TEMPO_LOCK_TOKEN", fmt::format("{}", lock->token()));
    auto guard = Guard::start({.command = arguments_->command,
                               .environment = std::move(environment),
                               .connection = locks_.socket(),
                               .deadline = lock->deadline(),
                               .margin = *margin});
    if (!guard) return print_error(kLockRefused, guard.error());
    return finish(watch(*guard, *lock));
  }

 private:
  Json state(const char* name) const {
    return Json::object().add("state", name).add("lock", arguments_->name);
  }
  Json taken_state(const Lock& lock) const {
    Json json = state("acquired");
    if (lock.token() != 0) json.add("token", fmt::format("{}", lock.token()));
    return json;
  }
  void print_state(const Json& json) const {
    if (arguments_->json) print_json_error_line(json);
  }

  // Waits for the lock; otherwise the exit status, after an error message.
  Result<Lock, int> acquire() {
    print_state(state("waiting"));
    auto pending = locks_.acquire_async(arguments_->name, options_);
    if (!pending) return std::unexpected(fail(pending.error()));
    LockWaitLine line(arguments_->socket, arguments_->name, !arguments_->json);
    for (;;) {
      std::array<pollfd, 2> ends{
          {{locks_.descriptor(), POLLIN, 0}, {line.descriptor(), POLLIN, 0}}};
      const auto ms = std::chrono::ceil<std::chrono::milliseconds>(
          std::min(pending->timeout(), line.timeout()));
      poll(ends.data(), ends.size(), static_cast<int>(ms.count()));
      auto lock = pending->poll();
      const int number = noted_signal();
      if (!lock || *lock || number != 0) line.clear();
      if (!lock) return std::unexpected(fail(lock.error()));
      if (number != 0) return std::unexpected(128 + number);
      if (*lock) return **std::move(lock);
      line.update();
    }
  }

  std::optional<NotGranted> reason_of(const Error& error, const ipc::LocksView& view) const {
    const auto kind = static_cast<ipc::LockKind>(options_.kind);
    if (error.code == ErrorCode::timed_out)
      return why_timed_out(view, arguments_->name, kind, options_.wait);
    return why_refused(view, arguments_->name, kind, error.message);
  }

  int fail(const Error& error) const {
    if (error.code == ErrorCode::timed_out || error.code == ErrorCode::refused)
      if (const auto view = ask_locks(arguments_->socket))
        if (const auto reason = reason_of(error, *view))
          return print_error(reason->status, reason->why);
    return print_error(exit_of(error), error.message);
  }

  // Until the command has ended: passes new deadlines to the guard and signals to the command.
  Guard::End watch(Guard& guard, Lock& lock) {
    int connection = locks_.socket();
    nanoseconds deadline = lock.deadline();
    int wait_ms = -1;
    for (;;) {
      std::array<pollfd, 2> ends{
          {{guard.descriptor(), POLLIN, 0}, {locks_.descriptor(), POLLIN, 0}}};
      poll(ends.data(), ends.size(), wait_ms);
      if (const int number = noted_signal()) guard.signal(number);
      if (const auto end = guard.ended()) return *end;
      if (const auto left = guard.left()) report_left(*left);
      // Each of the two calls below may read an update that the other one should see: look again.
      if (ends[1].revents == 0 && std::exchange(wait_ms, -1) < 0) continue;
      if (ends[1].revents != 0) wait_ms = kLookAgainMs;
      const nanoseconds now = lock.deadline();
      if (lock.is_wanted() && !std::exchange(wanted_, true)) guard.stop();
      // Without tempod the command may run until the deadline.
      if (locks_.socket() != connection)
        guard.extend(now, locks_.socket());  // tempod was restarted
      else if (now != deadline)
        guard.extend(now);
      deadline = now;
      connection = locks_.socket();
    }
  }

  // The lock is held until these processes have ended.
  void report_left(const Guard::Left& left) const {
    if (arguments_->json)
      print_state(state(left.killed ? "not_stopped" : "outlived")
                      .add("processes", static_cast<std::int64_t>(left.processes.size())));
    else
      print_error("tempo: {}; lock '{}' stays held meanwhile\n", left_text(left), arguments_->name);
  }

  int finish(const Guard::End& end) const {
    if (end.stopped) {
      print_state(state("lost"));
      if (wanted_ && end.left.empty() && end.ran_on.empty())
        return print_error(kLockLost, fmt::format("lock '{}' was given back, as 'tempo unlock' "
                                                  "asked; the command was stopped",
                                                  arguments_->name));
      if (!end.left.empty() || !end.ran_on.empty())
        return print_error(
            kRanOn, fmt::format("lock '{}' was lost, and {}", arguments_->name, ran_on_text(end)));
      return print_error(kLockLost,
                         fmt::format("lock '{}' was lost; the command was stopped before another "
                                     "machine could get the lock",
                                     arguments_->name));
    }
    const int status = exit_status_of(end);
    print_state(state("stopped").add("exit_status", std::int64_t{status}));
    if (!end.error.empty()) return print_error(status, end.error);
    return status;
  }

  const LockArguments* arguments_;
  AcquireOptions options_;
  Locks locks_;
  bool wanted_ = false;  // an operator has asked for the lock
};

}  // namespace

int lock(const LockArguments& arguments) {
  const auto options = options_of(arguments);
  if (!options) return options.error();
  const auto timeout = span_of(arguments.timeout, "--timeout");
  if (!timeout) return timeout.error();
  auto locks = Locks::connect(arguments.socket, *timeout);
  if (!locks) return print_error(exit_of(locks.error()), locks.error().message);
  return LockRun(arguments, *options, *std::move(locks)).run();
}

}  // namespace tempo::cli
