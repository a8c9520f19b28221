#include "daemon/parent.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/number_text.h"
#include "daemon/classic/classic_worker.h"
#include "daemon/control/control_server.h"
#include "daemon/crash_hint.h"
#include "daemon/drivers/clock_driver.h"
#include "daemon/drivers/lock_record_file.h"
#include "daemon/drivers/membership_file.h"
#include "daemon/drivers/publisher.h"
#include "daemon/log.h"
#include "daemon/parent_line.h"
#include "daemon/reload.h"
#include "daemon/worker.h"
#include "platform/clocks/oscillator.h"
#include "platform/confinement.h"
#include "platform/hook_runner.h"
#include "platform/host.h"
#include "platform/whole_file.h"

namespace tempo::daemon {
namespace {

constexpr int kFailed = 1;
constexpr int kUnusable = 4;       // exit status of a worker that another start would not help
constexpr Nanos kMinUptime = 10s;  // a worker that dies sooner is restarted after a pause
constexpr Nanos kMaxPause = 10s;
constexpr int kMaxEvents = 16;  // most messages of the worker between two other tasks
constexpr std::array kSignals{SIGTERM, SIGINT, SIGHUP};

volatile std::sig_atomic_t g_signal = 0;
void note_signal(int signal) { g_signal = signal; }

// Confines the worker. Priority and locked memory make it more precise, so it runs without them;
// everything else is required.
Result<void> confine(const config::Settings& settings) {
  if (::geteuid() == 0) {
    if (settings.realtime)
      for (const auto& done : {sys::run_real_time(kPriority), sys::lock_memory()})
        if (!done) log_warning(done.error());
    auto dropped = sys::drop_privileges(
        {.user = settings.user, .set_clock = settings.clock == config::ClockKind::system});
    if (!dropped) return dropped;
  }
  if (!settings.system_call_filter) return {};
  auto filtered = sys::filter_system_calls(
      {.writes_files = true, .connects = settings.lock_back_end == config::LockBackEnd::etcd});
  if (filtered) return filtered;
  return std::unexpected(filtered.error() +
                         "; set system-call-filter = false to run without it on this kernel");
}

Result<ControlServer> open_server(Worker& worker, const std::string& path) {
  return ControlServer::open(worker, path);
}
Result<ControlServer> open_server(ClassicWorker& worker, const std::string& path) {
  return worker.open_control_server(path);
}

// A killed worker releases the state directory a moment before its control socket.
Result<ControlServer> open_control_server(auto& worker, const std::string& path) {
  constexpr auto kStep = 20ms;
  constexpr Nanos kLongest = 1s;
  for (Nanos waited{0};; waited += kStep) {
    auto server = open_server(worker, path);
    if (server || waited >= kLongest) return server;
    ::poll(nullptr, 0, static_cast<int>(kStep.count()));
  }
}

// The control server of a worker in classic mode; it publishes no time page and no doors, because
// TSP has no error bound.
int work_in_classic_mode(const DaemonIdentity& identity, const ParentLine& parent) {
  auto worker = ClassicWorker::create(identity, &parent);
  if (!worker) {
    log_error(worker.error());
    return kUnusable;
  }
  auto control_server = open_control_server(**worker, identity.settings.socket);
  if (!control_server) {
    log_error(fmt::format("cannot open the control socket: {}", control_server.error()));
    return kUnusable;
  }
  if (const auto confined = confine(identity.settings); !confined) {
    log_error(confined.error());
    return kUnusable;
  }
  return (*worker)->run();
}

int work(const DaemonIdentity& identity, const ParentLine& parent) {
  if (identity.settings.mode == config::Mode::classic)
    return work_in_classic_mode(identity, parent);
  auto worker = Worker::create(identity, &parent);
  if (!worker) {
    log_error(worker.error());
    return kFailed;
  }
  auto control_server = open_control_server(**worker, identity.settings.socket);
  if (!control_server) {
    log_error(fmt::format("cannot open the control socket: {}", control_server.error()));
    return kUnusable;
  }
  if (const std::string path = page::path_for(identity.settings.socket); !path.empty()) {
    auto page = page::Writer::open(path);
    if (page)
      (*worker)->publish_to(*std::move(page));
    else
      log_warning(page.error());
  }
  const config::Settings& settings = identity.settings;
  auto doors = Doors::open({.clockbound = settings.clockbound,
                            .chrony = settings.chrony,
                            .steered = settings.clock == config::ClockKind::system,
                            .limit = settings.claims_limit});
  if (!doors) {
    log_error(doors.error());
    return kUnusable;
  }
  (*worker)->publish_to(*std::move(doors));
  if (!settings.utc_sources.empty()) {
    auto sources = UtcDoor::open(settings.utc_sources,
                                 ::geteuid() == 0 ? sys::user_id(settings.user) : std::nullopt);
    if (!sources) {
      log_error(sources.error());
      return kUnusable;
    }
    (*worker)->carry_utc_of(*std::move(sources));
  }
  if (const auto confined = confine(identity.settings); !confined) {
    log_error(confined.error());
    return kUnusable;
  }
  return (*worker)->run();
}

bool was_suspended(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == kSuspended; }

class Parent {
 public:
  Parent(DaemonIdentity identity, ReadSettings read_settings)
      : identity_(std::move(identity)), read_settings_(std::move(read_settings)) {}

  int run() {
    // Signals are delivered only while the parent waits. So none is lost before the wait, and none
    // reaches a new worker that still has the signal handlers of its parent.
    sigset_t mask;
    sigemptyset(&mask);
    for (const int signal : kSignals) sigaddset(&mask, signal);
    ::sigprocmask(SIG_BLOCK, &mask, &original_mask_);
    struct sigaction action{};
    action.sa_handler = note_signal;
    for (const int signal : kSignals) ::sigaction(signal, &action, nullptr);
    action.sa_handler = [](int) {};
    ::sigaction(SIGCHLD, &action, nullptr);

    // The parent must react quickly when the worker dies. Its children (hooks) run at ordinary
    // priority.
    if (identity_.settings.realtime && ::geteuid() == 0)
      if (const auto raised = sys::run_real_time(kPriority, sys::Children::ordinary); !raised)
        log_warning(raised.error());

    const auto hook_user = user_of(identity_.settings);
    if (!hook_user) {
      log_error(hook_user.error());
      return kFailed;
    }
    hook_user_ = *hook_user;

    const SavedLocks locks = read_lock_record(identity_.settings.state_dir, identity_.host,
                                              sys::place_of(identity_.settings.state_dir));
    written_ = locks.record;
    written_view_ = read_membership(identity_.settings.state_dir, identity_.host).record;

    Nanos pause{0};
    for (;;) {
      report_disk(begin_incarnation(identity_));
      const Instant started = clock_->now();
      const int status = run_worker();
      if (was_suspended(status) && stopping_) return 0;
      if (WIFEXITED(status) && WEXITSTATUS(status) == kBeginsAgain && !stopping_) continue;
      if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || stopping_))
        return WEXITSTATUS(status) == kBeginsAgain ? 0 : WEXITSTATUS(status);
      if (WIFEXITED(status) && WEXITSTATUS(status) == kUnusable) return kFailed;
      orphan_page(identity_.settings.socket);
      if (was_suspended(status)) {
        log_info("machine was suspended; starting a new worker");
        pause = 0s;
        continue;
      }
      // The signal arrived before the worker could handle it.
      if (stopping_ && WIFSIGNALED(status) && WTERMSIG(status) == forwarded_signal_) return 0;
      log_error(
          WIFSIGNALED(status)
              ? fmt::format("worker killed by signal {}; restarting it", WTERMSIG(status))
              : fmt::format("worker exited with status {}; restarting it", WEXITSTATUS(status)));
      if (stopping_) return kFailed;
      if (clock_->now() - started > kMinUptime)
        pause = 0s;
      else
        pause = std::min(pause == 0s && WIFSIGNALED(status) ? Nanos{100ms} : 2 * pause + 500ms,
                         Nanos{kMaxPause});
      const Instant until = clock_->now() + pause;
      while (clock_->now() < until && !stopping_) {
        wait({}, until - clock_->now());
        take_signal(0);
      }
      if (stopping_) return kFailed;
    }
  }

 private:
  // Runs one worker until it ends; returns its wait status. Sends the crash hint unless it ended
  // cleanly.
  int run_worker() {
    ParentLine line;
    const pid_t child = ::fork();
    if (child < 0) {
      log_error(
          fmt::format("cannot start the worker: {}; raise the limit of processes or free memory",
                      std::strerror(errno)));
      return kFailed << 8;
    }
    if (child == 0) {
      line.use_worker_end();
      restore_signals();
      ::_exit(work(identity_, line));
    }
    line.use_parent_end();
    hint_ = std::make_unique<CrashHint>(identity_);
    told_disk_error_.clear();
    const int status = supervise(child, line);
    while (receive_event(line)) {  // remaining messages of the dead worker
    }
    const bool clean = WIFEXITED(status) && (WEXITSTATUS(status) == 0 ||
                                             WEXITSTATUS(status) == kBeginsAgain || stopping_);
    if (!clean || was_suspended(status)) hint_->send();
    hint_.reset();
    if (std::exchange(leads_, false))
      run_hook("lost-master",
               was_suspended(status) ? "the machine was suspended" : "the worker died");
    return status;
  }

  int supervise(pid_t child, const ParentLine& line) {
    for (;;) {
      pollfd waiting{.fd = line.descriptor(), .events = POLLIN, .revents = 0};
      const int ready = wait({&waiting, 1}, 1s);
      tell_disk_error(line);
      if (ready > 0 && (waiting.revents & POLLIN) != 0) receive_events(line);
      if (ready == 0) hint_->rescan();
      if (take_signal(child) == SIGHUP) reload(line);
      int status = 0;
      for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        if (ended == child) return status;
        hook_ended(status);
      }
      if (ready > 0 && (waiting.revents & POLLHUP) != 0) {
        while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        return status;
      }
    }
  }

  // Waits until a descriptor is ready, a signal arrives or the time is over; returns the number of
  // ready descriptors.
  int wait(std::span<pollfd> ends, Nanos span) const {
    const timespec time{.tv_sec = span / 1s, .tv_nsec = (span % 1s).count()};
    return ::ppoll(ends.data(), ends.size(), &time, &original_mask_);
  }

  // In a child: restores the signal handlers and mask of the environment.
  void restore_signals() const {
    for (const int signal : kSignals) ::signal(signal, SIG_DFL);
    ::signal(SIGCHLD, SIG_DFL);
    ::sigprocmask(SIG_SETMASK, &original_mask_, nullptr);
  }

  int take_signal(pid_t child) {
    const int signal = g_signal;
    g_signal = 0;
    if (signal == 0 || signal == SIGHUP) return signal;
    stopping_ = true;
    forwarded_signal_ = signal;
    if (child > 0) ::kill(child, signal);
    return signal;
  }

  // All or nothing: with a mistake in the settings or an unreadable key the old settings stay.
  void reload(const ParentLine& line) {
    if (identity_.settings.mode == config::Mode::classic)
      return log_warning("reload: restart tempod to change settings in classic mode");
    const auto settings = read_settings_();
    if (!settings) {
      for (const config::Mistake& mistake : settings.error())
        log_error(fmt::format("reload: {}: {}", mistake.where, mistake.what));
      log_error("reload: nothing was changed");
      return;
    }
    const auto file = read_keys_again(*settings, identity_.keys);
    if (!file) {
      log_error(fmt::format("reload: {}; nothing was changed", file.error()));
      return;
    }
    const auto hook_user = user_of(*settings);
    if (!hook_user) {
      log_error(fmt::format("reload: {}; nothing was changed", hook_user.error()));
      return;
    }
    hook_user_ = *hook_user;
    const Difference found = difference(identity_.settings, *settings);
    identity_.settings = changed(identity_.settings, *settings);
    identity_.keys = file->keys;
    set_log_level(identity_.settings.log_level);
    hint_ = std::make_unique<CrashHint>(identity_);
    if (!line.send(reload_text(identity_.settings, file->text))) {
      log_error("reload: cannot send the settings to the worker; restart tempod");
      return;
    }
    const std::size_t keys = file->keys.size();
    log_info(fmt::format("reloaded: {} cluster key{}{}", keys, keys == 1 ? "" : "s",
                         found.now.empty() ? "" : "; changed: " + listed(found.now)));
    if (!found.restart.empty())
      log_warning(fmt::format("reload: restart tempod to change {}", listed(found.restart)));
    std::string_view last;
    for (const std::string& key : found.restart)
      if (const std::string_view why = restart_reason(key); !why.empty() && why != last)
        log_warning(fmt::format("reload: {} is unchanged: {}", key, last = why));
  }

  static std::string listed(const std::vector<std::string>& keys) {
    std::string all;
    for (const std::string& key : keys) all += (all.empty() ? "" : ", ") + key;
    return all;
  }

  void receive_events(const ParentLine& line) {
    for (int i = 0; i < kMaxEvents && receive_event(line); ++i) {
    }
  }

  // Receives one message "what\tdetails": an event, or data to be saved. False: there is none.
  bool receive_event(const ParentLine& line) {
    const std::string event = line.receive();
    const std::size_t tab = event.find('\t');
    if (tab == std::string::npos) return false;
    const std::string what = event.substr(0, tab);
    const std::string details = event.substr(tab + 1);
    if (what == kWriteLocks) {
      write_locks(line, details);
    } else if (what == kWriteMembership) {
      write_view(line, details);
    } else if (what == kBeginLocksAgain) {
      begin_locks_again(details);
    } else if (what == ClockDriver::kSaveRate) {
      identity_.state.rate = parse_rate(details).value_or(identity_.state.rate);
      identity_.clock_floor = {};
      save_state();
    } else {
      if (what == "became-master" || what == "lost-master") leads_ = what == "became-master";
      run_hook(what, details);
    }
    return true;
  }

  // The worker may not write there, and the next incarnation needs the values after a kill too.
  void save_state() {
    identity_.state.written_s = system_seconds();
    report_disk(write_state(identity_.settings.state_dir, identity_.state));
  }

  void report_disk(const Result<void>& saved) {
    const std::string error = saved ? "" : saved.error();
    if (!error.empty() && error != disk_error_) log_error(error);
    disk_error_ = error;
  }

  // The worker shows why the state cannot be saved: an error of the last attempt, or a file system
  // that is full or read-only before an attempt fails.
  void tell_disk_error(const ParentLine& line) {
    const std::string& directory = identity_.settings.state_dir;
    const std::string error = !disk_error_.empty()   ? disk_error_
                              : !lock_error_.empty() ? lock_error_
                              : !view_error_.empty() ? view_error_
                                                     : sys::space_error(directory);
    if (error != told_disk_error_ && line.send(fmt::format("{}\t{}", kDiskError, error)))
      told_disk_error_ = error;
  }

  // Writes the lock record of the worker: "number\ttext". A worker that is out of order must not
  // take back what earlier records promise.
  void write_locks(const ParentLine& line, const std::string& message) {
    const std::size_t tab = message.find('\t');
    if (tab == std::string::npos) return;
    const auto record = locks::parse_lock_record(message.substr(tab + 1));
    std::string wrong = record ? "" : "it is no lock record";
    if (record && record->host != identity_.host) wrong = "it names another machine";
    if (record && written_ && wrong.empty()) wrong = regression(*written_, *record);
    const Result<void> done =
        wrong.empty()
            ? sys::write_record(lock_record_path(identity_.settings.state_dir), record->text())
            : std::unexpected(
                  fmt::format("the worker's record is wrong: {}; restart tempod", wrong));
    lock_error_ = done ? "" : done.error();
    if (done) written_ = record;
    line.send(done ? fmt::format("{}\t{}", kLocksWritten, message.substr(0, tab))
                   : fmt::format("{}\t{}", kLocksNotWritten, done.error()));
  }

  // The same for the membership record.
  void write_view(const ParentLine& line, const std::string& message) {
    const std::size_t tab = message.find('\t');
    if (tab == std::string::npos) return;
    const auto done = write_membership(identity_.settings.state_dir, identity_.host, written_view_,
                                       message.substr(tab + 1));
    view_error_ = done ? "" : done.error();
    if (done) written_view_ = *done;
    line.send(done ? fmt::format("{}\t{}", kMembershipWritten, message.substr(0, tab))
                   : fmt::format("{}\t{}", kMembershipNotWritten, done.error()));
  }

  // An operator has ordered it: the record begins again, above every count in use.
  void begin_locks_again(const std::string& count) {
    const auto above = parse_number<std::uint64_t>(count);
    if (!above) return;
    const auto fresh =
        begin_lock_record_again(identity_.settings.state_dir, identity_.host, *above);
    if (!fresh)
      return log_error(fmt::format("cannot begin the lock record again: {}", fresh.error()));
    written_ = *fresh;
  }

  // The user of the hooks, checked; empty: the current one.
  static Result<std::string> user_of(const config::Settings& settings) {
    if (settings.hook.empty()) return "";
    return sys::user_of_hooks(settings.hook_user, settings.user);
  }

  void run_hook(const std::string& what, const std::string& details) {
    if (identity_.settings.hook.empty()) return;
    const auto outcome = hooks_.run({.program = identity_.settings.hook, .user = hook_user_},
                                    clock_->now(), what, details);
    const bool started = outcome == sys::HookRunner::Outcome::started;
    if (!started && !std::exchange(hooks_dropped_, true))
      log_warning("hook: some events were dropped; too many occurred at once");
    if (started) hooks_dropped_ = false;
  }

  void hook_ended(int status) {
    hooks_.ended();
    if (!WIFEXITED(status)) return;
    if (WEXITSTATUS(status) == sys::HookRunner::kNotSwitched)
      log_warning(
          fmt::format("hook: cannot switch to user '{}'; start tempod as root", hook_user_));
    if (WEXITSTATUS(status) == sys::HookRunner::kNotRun)
      log_warning(fmt::format(
          "hook: cannot run {}; check that it exists and that {} may execute it",
          identity_.settings.hook, hook_user_.empty() ? "tempod" : "user '" + hook_user_ + "'"));
  }

  DaemonIdentity identity_;
  ReadSettings read_settings_;
  std::optional<locks::LockRecord> written_{};        // the last lock record; unset: none, or lost
  std::optional<membership::Record> written_view_{};  // the last membership record, likewise
  std::unique_ptr<CrashHint> hint_;                   // set while a worker runs
  sigset_t original_mask_{};                          // signal mask of the environment
  bool stopping_ = false;
  int forwarded_signal_ = 0;  // signal sent to the worker when stopping
  bool leads_ = false;        // the worker is master, by its last event
  std::unique_ptr<sys::Oscillator> clock_ = sys::real_oscillator();
  sys::HookRunner hooks_{[this] { restore_signals(); }};
  std::string hook_user_;        // user of the hooks; empty: the current one
  bool hooks_dropped_ = false;   // the last event had no hook; logged once
  std::string disk_error_;       // last error, logged once; empty: none
  std::string lock_error_;       // of the last write of the lock record; empty: none
  std::string view_error_;       // of the membership record
  std::string told_disk_error_;  // last message to the worker
};

}  // namespace

int run_with_parent(DaemonIdentity identity, ReadSettings read_settings) {
  return Parent(std::move(identity), std::move(read_settings)).run();
}

int run_standalone(DaemonIdentity identity) {
  // The network cards of a simulator know true time, which would falsify every measurement.
  identity.settings.hardware_stamps = false;
  share_machine_id(identity);
  for (;;) {
    if (const auto begun = begin_incarnation(identity); !begun) log_error(begun.error());
    auto worker = Worker::create(identity, nullptr);
    if (!worker) {
      log_error(worker.error());
      return kFailed;
    }
    const int status = (*worker)->run();
    if (status != kSuspended && status != kBeginsAgain) return status;
    identity.state.rate = read_state(identity.settings.state_dir).state.rate;
  }
}

}  // namespace tempo::daemon
