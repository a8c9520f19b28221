#include "live/daemon/parent.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/daemon/door.h"
#include "live/daemon/log.h"
#include "live/daemon/publisher.h"
#include "live/daemon/worker.h"
#include "live/sys/oscillator.h"

namespace tempo::daemon {
namespace {

constexpr int kFailed = 1;
constexpr Nanos kShortLife = 10s;  // a worker that lives less is started again later
constexpr Nanos kLongestPause = 10s;
constexpr std::size_t kMostEventBytes = 4096;
constexpr int kMostHooks = 16;  // running at once

volatile std::sig_atomic_t g_signal = 0;
void remember(int signal) { g_signal = signal; }

int work(const Life& life, const Worker::OnEvent& on_event) {
  auto worker = Worker::create(life, on_event);
  if (!worker) {
    log_error(worker.error());
    return kFailed;
  }
  auto door = Door::open(**worker, life.settings.socket);
  if (!door) log_warning(fmt::format("no control socket: {}", door.error()));
  if (const std::string path = page::path_for(life.settings.socket); !path.empty()) {
    auto page = page::Writer::open(path);
    if (page)
      (*worker)->publish_to(*std::move(page));
    else
      log_warning(page.error());
  }
  for (const std::string& trouble : (*worker)->confine()) log_warning(trouble);
  return (*worker)->run();
}

// One datagram to everybody on each network: the process that was this host's master is gone.
void send_crash_hint(const Life& life) {
  const auto networks = networks_of(life.settings);
  if (!networks) return;
  node::Mailroom mailroom = make_mailroom(life);
  const auto oscillator = sys::real_oscillator();
  std::array<std::byte, wire::kMostBytes> buffer;
  for (sys::NetworkOptions options : *networks) {
    // From the first address only, with a port of the kernel's choice: nothing is to be received.
    options.bind.resize(std::min<std::size_t>(options.bind.size(), 1));
    for (sys::Address& address : options.bind) {
      const auto same = sys::Address::parse(address.text(), 0);
      if (same) address = *same;
    }
    options.port = 0;
    options.multicast = false;
    const auto network = sys::Network::open(options, *oscillator);
    if (!network) continue;
    const std::size_t size = mailroom.crash_hint(buffer);
    (*network)->broadcast({buffer.data(), size});
  }
}

// A line "what\tdetails" for each event, from the worker to the parent.
class EventPipe {
 public:
  EventPipe() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) return;
    parents_ = ends[0];
    workers_ = ends[1];
  }
  ~EventPipe() {
    close_parents();
    close_workers();
  }
  EventPipe(const EventPipe&) = delete;
  EventPipe& operator=(const EventPipe&) = delete;

  int parents() const { return parents_; }
  void close_parents() { close(parents_); }
  void close_workers() { close(workers_); }

  // Lost rather than waited for.
  void send(const Event& event) const {
    std::string line = event.what + '\t' + event.details;
    line.resize(std::min(line.size(), kMostEventBytes));
    (void)::send(workers_, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  std::string receive() const {
    std::string line(kMostEventBytes, '\0');
    const ssize_t size = ::recv(parents_, line.data(), line.size(), MSG_DONTWAIT);
    line.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return line;
  }

 private:
  static void close(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
  int parents_ = -1;
  int workers_ = -1;
};

class Parent {
 public:
  explicit Parent(Life life) : life_(std::move(life)) {}

  int run() {
    struct sigaction action{};
    action.sa_handler = remember;
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaction(signal, &action, nullptr);
    action.sa_handler = [](int) {};
    ::sigaction(SIGCHLD, &action, nullptr);

    Nanos pause{0};
    for (;;) {
      be_born(life_);
      if (const auto saved = write_state(life_.settings.state_dir, life_.state); !saved)
        log_warning(saved.error());
      const auto clock = sys::real_oscillator();
      const Instant born = clock->now();
      const int status = live();
      if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || stopping_)) return WEXITSTATUS(status);
      send_crash_hint(life_);
      orphan_page(life_.settings.socket);
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
        ::poll(nullptr, 0, 50);
        take_signal(0);
      }
      if (stopping_) return kFailed;
      life_.state.rate = read_state(life_.settings.state_dir).rate;
    }
  }

 private:
  // One life of the worker; its wait status.
  int live() {
    EventPipe events;
    const pid_t child = ::fork();
    if (child < 0) {
      log_error(fmt::format("cannot start the worker: {}", std::strerror(errno)));
      return kFailed << 8;
    }
    if (child == 0) {
      events.close_parents();
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // without its parent it would never be started again
      for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) ::signal(signal, SIG_DFL);
      const bool hooked = !life_.settings.hook.empty();
      const int status = work(life_, [&](const Event& event) {
        if (hooked) events.send(event);
      });
      ::_exit(status);
    }
    events.close_workers();
    for (;;) {
      pollfd waiting{.fd = events.parents(), .events = POLLIN, .revents = 0};
      const int ready = ::poll(&waiting, 1, 1000);
      if (ready > 0 && (waiting.revents & POLLIN) != 0) run_hook(events.receive());
      take_signal(child);
      int status = 0;
      for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        if (ended == child) return status;
        --hooks_;
      }
      if (ready > 0 && (waiting.revents & POLLHUP) != 0) {
        while (::waitpid(child, &status, 0) < 0 && errno == EINTR) take_signal(child);
        return status;
      }
    }
  }

  void take_signal(pid_t child) {
    const int signal = g_signal;
    if (signal == 0) return;
    g_signal = 0;
    if (signal != SIGHUP) stopping_ = true;
    if (child > 0) ::kill(child, signal);
  }

  // The program with the event's name and its sentence as arguments.
  void run_hook(const std::string& line) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos || hooks_ >= kMostHooks) return;
    const std::string what = line.substr(0, tab);
    const std::string details = line.substr(tab + 1);
    const pid_t hook = ::fork();
    if (hook == 0) {
      ::setenv("TEMPO_EVENT", what.c_str(), 1);
      ::execl(life_.settings.hook.c_str(), life_.settings.hook.c_str(), what.c_str(),
              details.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    if (hook > 0) ++hooks_;
  }

  Life life_;
  bool stopping_ = false;
  int hooks_ = 0;
};

}  // namespace

int run_with_parent(Life life) { return Parent(std::move(life)).run(); }

int run_bare(Life life) {
  be_one_of_many(life);
  be_born(life);
  if (const auto saved = write_state(life.settings.state_dir, life.state); !saved)
    log_warning(saved.error());
  auto worker = Worker::create(life, {});
  if (!worker) {
    log_error(worker.error());
    return kFailed;
  }
  return (*worker)->run();
}

}  // namespace tempo::daemon
