#include "daemon/parent.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/control/control_server.h"
#include "daemon/control/publisher.h"
#include "daemon/crash_hint.h"
#include "daemon/lock_driver.h"
#include "daemon/log.h"
#include "daemon/parent_line.h"
#include "daemon/reload.h"
#include "daemon/worker.h"
#include "platform/clocks/oscillator.h"
#include "platform/confinement.h"
#include "platform/whole_file.h"

namespace tempo::daemon {
namespace {

constexpr int kFailed = 1;
constexpr Nanos kShortLife = 10s;  // a worker that lives less is started again later
constexpr Nanos kLongestPause = 10s;
constexpr int kMaxHooks = 16;  // running at once
constexpr std::array kHeard{SIGTERM, SIGINT, SIGHUP};

volatile std::sig_atomic_t g_signal = 0;
void remember(int signal) { g_signal = signal; }

int work(const DaemonIdentity& identity, const ParentLine& parent) {
  auto worker = Worker::create(identity, &parent);
  if (!worker) {
    log_error(worker.error());
    return kFailed;
  }
  auto control_server = ControlServer::open(**worker, identity.settings.socket);
  if (!control_server) log_warning(fmt::format("no control socket: {}", control_server.error()));
  if (const std::string path = page::path_for(identity.settings.socket); !path.empty()) {
    auto page = page::Writer::open(path);
    if (page)
      (*worker)->publish_to(*std::move(page));
    else
      log_warning(page.error());
  }
  for (const std::string& trouble : (*worker)->confine()) log_warning(trouble);
  return (*worker)->run();
}

bool has_slept(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == kSlept; }

class Parent {
 public:
  Parent(DaemonIdentity identity, ReadSettings read_settings)
      : identity_(std::move(identity)), read_settings_(std::move(read_settings)) {}

  int run() {
    // They come while it waits and at no other time: none is overlooked before it waits, and none
    // meets a worker that has only begun and still has its parent's way to take them.
    sigset_t heard;
    sigemptyset(&heard);
    for (const int signal : kHeard) sigaddset(&heard, signal);
    ::sigprocmask(SIG_BLOCK, &heard, &usual_);
    struct sigaction action{};
    action.sa_handler = remember;
    for (const int signal : kHeard) ::sigaction(signal, &action, nullptr);
    action.sa_handler = [](int) {};
    ::sigaction(SIGCHLD, &action, nullptr);

    // It only waits, but when the worker dies it must be quick. What it starts is not to be.
    if (identity_.settings.realtime && ::geteuid() == 0)
      if (const auto urgent = sys::run_real_time(kPriority, sys::Children::ordinary); !urgent)
        log_warning(urgent.error());

    Nanos pause{0};
    for (;;) {
      new_incarnation(identity_);
      save_state();
      const auto clock = sys::real_oscillator();
      const Instant born = clock->now();
      const int status = live();
      if (has_slept(status) && stopping_) return 0;
      if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || stopping_)) return WEXITSTATUS(status);
      orphan_page(identity_.settings.socket);
      if (has_slept(status)) {
        log_info("the machine has slept: the worker is started anew");
        pause = 0s;
        continue;
      }
      // It was told to end before it could do so in order.
      if (stopping_ && WIFSIGNALED(status) && WTERMSIG(status) == passed_on_) return 0;
      log_error(WIFSIGNALED(status)
                    ? fmt::format("the worker was killed by signal {}", WTERMSIG(status))
                    : fmt::format("the worker ended with status {}", WEXITSTATUS(status)));
      if (stopping_) return kFailed;
      if (clock->now() - born > kShortLife)
        pause = 0s;
      else
        pause = std::min(pause == 0s && WIFSIGNALED(status) ? Nanos{100ms} : 2 * pause + 500ms,
                         Nanos{kLongestPause});
      const Instant until = clock->now() + pause;
      while (clock->now() < until && !stopping_) {
        wait({}, until - clock->now());
        take_signal(0);
      }
      if (stopping_) return kFailed;
    }
  }

 private:
  // One life of the worker; its wait status. If it was not ended cleanly, everybody knows.
  int live() {
    ParentLine line;
    const pid_t child = ::fork();
    if (child < 0) {
      log_error(fmt::format("cannot start the worker: {}", std::strerror(errno)));
      return kFailed << 8;
    }
    if (child == 0) {
      line.be_worker();
      be_usual();
      ::_exit(work(identity_, line));
    }
    line.be_parent();
    hint_ = std::make_unique<CrashHint>(identity_);
    const int status = watch_over(child, line);
    while (receive_event(line)) {  // its last words; nobody adds to them any more
    }
    const bool in_order = WIFEXITED(status) && (WEXITSTATUS(status) == 0 || stopping_);
    if (!in_order || has_slept(status)) hint_->send();
    hint_.reset();
    if (std::exchange(leads_, false))
      run_hook("lost-master",
               has_slept(status) ? "this machine has slept" : "the worker of this host has died");
    return status;
  }

  int watch_over(pid_t child, const ParentLine& line) {
    for (;;) {
      pollfd waiting{.fd = line.descriptor(), .events = POLLIN, .revents = 0};
      const int ready = wait({&waiting, 1}, 1s);
      if (ready > 0 && (waiting.revents & POLLIN) != 0) receive_events(line);
      if (ready == 0) hint_->look_again();
      if (take_signal(child) == SIGHUP) reload(line);
      int status = 0;
      for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        if (ended == child) return status;
        --hooks_;
      }
      if (ready > 0 && (waiting.revents & POLLHUP) != 0) {
        while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        return status;
      }
    }
  }

  // Until one is ready, a signal has come, or the time is over; how many are ready.
  int wait(std::span<pollfd> ends, Nanos span) const {
    const timespec time{.tv_sec = span / 1s, .tv_nsec = (span % 1s).count()};
    return ::ppoll(ends.data(), ends.size(), &time, &usual_);
  }

  // In a child: signals are as they were before this program took them.
  void be_usual() const {
    for (const int signal : kHeard) ::signal(signal, SIG_DFL);
    ::signal(SIGCHLD, SIG_DFL);
    ::sigprocmask(SIG_SETMASK, &usual_, nullptr);
  }

  int take_signal(pid_t child) {
    const int signal = g_signal;
    g_signal = 0;
    if (signal == 0 || signal == SIGHUP) return signal;
    stopping_ = true;
    passed_on_ = signal;
    if (child > 0) ::kill(child, signal);
    return signal;
  }

  // All or nothing: with a mistake in them, or a key that cannot be read, the old ones stay.
  void reload(const ParentLine& line) {
    const auto settings = read_settings_();
    if (!settings) {
      for (const config::Mistake& mistake : settings.error())
        log_error(fmt::format("reload: {}: {}", mistake.where, mistake.what));
      log_error("reload: nothing was changed");
      return;
    }
    const auto text = read_key_file(*settings);
    const auto keys = text ? parse_key_file(*settings, *text) : std::unexpected(text.error());
    if (!keys) {
      log_error(fmt::format("reload: {}; nothing was changed", keys.error()));
      return;
    }
    const Difference found = difference(identity_.settings, *settings);
    identity_.settings = changed(identity_.settings, *settings);
    identity_.keys = *keys;
    set_log_level(identity_.settings.log_level);
    hint_ = std::make_unique<CrashHint>(identity_);
    if (!line.send(reload_text(identity_.settings, *text))) {
      log_error("reload: the worker cannot be told; restart tempod");
      return;
    }
    log_info(fmt::format("reloaded: {} key{}{}", keys->size(), keys->size() == 1 ? "" : "s",
                         found.now.empty() ? "" : "; changed: " + listed(found.now)));
    if (!found.restart.empty())
      log_warning(fmt::format("reload: needs a restart: {}", listed(found.restart)));
  }

  static std::string listed(const std::vector<std::string>& words) {
    std::string all;
    for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
    return all;
  }

  void receive_events(const ParentLine& line) {
    for (int i = 0; i < kMaxHooks && receive_event(line); ++i) {
    }
  }

  // A line "what\tdetails", of an event or for the disk; false: there is none.
  bool receive_event(const ParentLine& line) {
    const std::string event = line.receive();
    const std::size_t tab = event.find('\t');
    if (tab == std::string::npos) return false;
    const std::string what = event.substr(0, tab);
    const std::string details = event.substr(tab + 1);
    if (what == LockDriver::kWrite) {
      write_locks(line, details);
    } else if (what == Worker::kKeepRate) {
      identity_.state.rate = parse_rate(details).value_or(identity_.state.rate);
      save_state();
    } else {
      if (what == "became-master" || what == "lost-master") leads_ = what == "became-master";
      run_hook(what, details);
    }
    return true;
  }

  // The worker may not write there, and the life after a kill is to know what this one has learnt.
  void save_state() {
    const auto saved = write_state(identity_.settings.state_dir, identity_.state);
    const std::string trouble = saved ? "" : saved.error();
    if (!trouble.empty() && trouble != trouble_) log_warning(trouble);
    trouble_ = trouble;
  }

  // "number\ttext": what the worker wants to remember of locks.
  void write_locks(const ParentLine& line, const std::string& message) const {
    const std::size_t tab = message.find('\t');
    if (tab == std::string::npos) return;
    const auto done =
        sys::replace_file(lock_record_path(identity_.settings.state_dir), message.substr(tab + 1));
    if (!done) return log_error(fmt::format("no locks: {}", done.error()));
    line.send(fmt::format("{}\t{}", LockDriver::kWritten, message.substr(0, tab)));
  }

  // The program with the event's name and its sentence as arguments.
  void run_hook(const std::string& what, const std::string& details) {
    if (identity_.settings.hook.empty() || hooks_ >= kMaxHooks) return;
    const pid_t hook = ::fork();
    if (hook == 0) {
      be_usual();
      ::setenv("TEMPO_EVENT", what.c_str(), 1);
      ::execl(identity_.settings.hook.c_str(), identity_.settings.hook.c_str(), what.c_str(),
              details.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    if (hook > 0) ++hooks_;
  }

  DaemonIdentity identity_;
  ReadSettings read_settings_;
  std::unique_ptr<CrashHint> hint_;  // while a worker lives
  sigset_t usual_{};                 // what is blocked outside
  bool stopping_ = false;
  int passed_on_ = 0;   // to the worker, when stopping
  bool leads_ = false;  // the worker, by what it last told
  int hooks_ = 0;
  std::string trouble_;  // of the disk, told once
};

}  // namespace

int run_with_parent(DaemonIdentity identity, ReadSettings read_settings) {
  return Parent(std::move(identity), std::move(read_settings)).run();
}

int run_standalone(DaemonIdentity identity) {
  // A simulator's cards know true time, which would be no measure of anything.
  identity.settings.hardware_stamps = false;
  share_machine_id(identity);
  for (;;) {
    new_incarnation(identity);
    if (const auto saved = write_state(identity.settings.state_dir, identity.state); !saved)
      log_warning(saved.error());
    auto worker = Worker::create(identity, nullptr);
    if (!worker) {
      log_error(worker.error());
      return kFailed;
    }
    if (const int status = (*worker)->run(); status != kSlept) return status;
    identity.state.rate = read_state(identity.settings.state_dir).rate;
  }
}

}  // namespace tempo::daemon
