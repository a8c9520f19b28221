#include "workload.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"
#include "candidate.h"
#include "platform/clocks/boot_clock.h"
#include "tempo/lock.h"

namespace tempo::faults {
namespace {

constexpr std::uint32_t kCause = 2;   // random stream of clients
constexpr Nanos kMaxPause = 10ms;     // longest pause between two locks
constexpr Nanos kTimeout = 300ms;     // for a reply of the daemon
constexpr Nanos kPollInterval = 1ms;  // between two readings of the clock while a lock is held
constexpr int kMaxStopPolls = 5000;   // one each millisecond until a client must have ended

// A program that takes locks, in its own process.
class Client {
 public:
  Client(const Workload::Options& options, std::uint32_t number, std::uint32_t incarnation,
         HoldLog& log)
      : options_(&options), log_(&log), random_(options.seed, kCause, number * 1000 + incarnation) {
    socket_ = options.sockets[number % options.sockets.size()];
  }

  void run() {
    while (!log_->stop) {
      sleep_for(random_.uniform(Nanos{0}, kMaxPause));
      if (log_->full() || !connected()) continue;
      acquire_one();
    }
  }

 private:
  bool connected() {
    if (locks_) return true;
    auto locks = Locks::connect(socket_, kTimeout);
    if (!locks) return false;
    locks_.emplace(*std::move(locks));
    return true;
  }

  void acquire_one() {
    // Clients hold the last lock for a long time, so that every fault hits a holder.
    const auto number = random_.chance(0.03)
                            ? options_->locks - 1
                            : static_cast<std::uint32_t>(random_.below(options_->locks - 1));
    const bool shared = random_.chance(0.4);
    auto lock = locks_->acquire(fmt::format("seed{}-{}", options_->seed, number),
                                {.shared = shared, .wait = 2 * options_->lease});
    if (lock) return hold(*lock, number, shared);
    if (lock.error().code == ErrorCode::timed_out) return;
    locks_.reset();
    ++log_->broken;
  }

  void hold(Lock& lock, std::uint32_t number, bool shared) {
    const Nanos span = number == options_->locks - 1
                           ? random_.uniform(options_->lease / 2, 2 * options_->lease)
                           : random_.uniform(Nanos{0}, options_->lease / 60);
    BootTime deadline{lock.deadline()};
    const BootTime entered = sys::boot_clock();
    if (entered >= deadline) return;  // the grant arrived after the lease ended
    log_->enter(number, shared ? lock::Mode::shared : lock::Mode::exclusive,
                lock::Token{lock.token()}, entered);
    for (;;) {
      const BootTime now = sys::boot_clock();
      if (now >= deadline) {
        ++log_->lost;
        return log_->leave(deadline);
      }
      log_->update(now);
      if (now >= entered + span || log_->stop) return log_->leave(now);
      sleep_for(std::min({kPollInterval, entered + span - now, deadline - now}));
      const BootTime before = sys::boot_clock();
      const Nanos new_deadline = lock.deadline();
      if (new_deadline == Nanos{0}) {  // tempod reported the loss; the client could act until then
        ++log_->lost;
        return log_->leave(std::min(before, deadline));
      }
      deadline = BootTime{new_deadline};
    }
  }

  const Workload::Options* options_;
  HoldLog* log_;
  Stream random_;
  std::string socket_;
  std::optional<Locks> locks_;
};

}  // namespace

void sleep_for(Nanos span) {
  const timespec time{.tv_sec = span / 1s, .tv_nsec = (span % 1s).count()};
  nanosleep(&time, nullptr);
}

// --- log of one client ---

void HoldLog::enter(std::uint32_t lock, lock::Mode mode, lock::Token token, BootTime at) {
  Line& line = lines_[count_];
  line.lock = lock;
  line.shared = mode == lock::Mode::shared;
  line.token = std::to_underlying(token);
  line.left = 0;
  line.seen = at.time_since_epoch().count();
  line.entered = at.time_since_epoch().count();
  ++count_;
}

bool HoldLog::entered_since(BootTime when) const {
  const std::size_t count = count_;
  return count > 0 && BootTime{Nanos{lines_[count - 1].entered}} >= when;
}

bool HoldLog::inside_since(BootTime when) const {
  const std::size_t count = count_;
  return count > 0 && BootTime{Nanos{lines_[count - 1].seen}} >= when;
}

void HoldLog::add_to(std::vector<Hold>& history, std::uint32_t client) const {
  const std::size_t count = count_;
  for (std::size_t i = 0; i < count; ++i) {
    const Line& line = lines_[i];
    history.push_back({.client = client,
                       .lock = line.lock,
                       .mode = line.shared ? lock::Mode::shared : lock::Mode::exclusive,
                       .token = lock::Token{line.token.load()},
                       .entered = BootTime{Nanos{line.entered}},
                       .left = BootTime{Nanos{line.left != 0 ? line.left : line.seen}}});
  }
}

// --- all clients ---

Workload::Workload(Options options)
    : options_(std::move(options)), processes_(all()), incarnations_(all()) {
  for (std::uint32_t i = 0; i < all(); ++i) {
    void* const memory =
        mmap(nullptr, sizeof(HoldLog), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("cannot map the log of a client");
    logs_.push_back(new (memory) HoldLog);
  }
  for (std::uint32_t i = 0; i < all(); ++i) start(i);
}

Workload::~Workload() {
  for (std::uint32_t i = 0; i < all(); ++i) kill(i);
  for (HoldLog* const log : logs_) munmap(log, sizeof(HoldLog));
}

void Workload::start(std::uint32_t client) {
  const std::uint32_t incarnation = incarnations_[client]++;
  const pid_t process = fork();
  if (process < 0) throw std::runtime_error("cannot fork a client");
  processes_[client] = process;
  if (process != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // clients of an aborted test end with it
  if (client < options_.clients)
    Client(options_, client, incarnation, *logs_[client]).run();
  else
    Candidate(options_, client, incarnation, *logs_[client]).run();
  _exit(0);
}

void Workload::kill(std::uint32_t client) {
  if (processes_[client] == 0) return;
  ::kill(processes_[client], SIGKILL);
  while (waitpid(processes_[client], nullptr, 0) < 0 && errno == EINTR) {
  }
  processes_[client] = 0;
}

void Workload::revive(std::uint32_t client) {
  if (processes_[client] == 0) start(client);
}

void Workload::pause(std::uint32_t client, bool on) const {
  if (processes_[client] != 0) ::kill(processes_[client], on ? SIGSTOP : SIGCONT);
}

std::vector<std::uint32_t> Workload::without_lock_since(BootTime when) const {
  std::vector<std::uint32_t> without;
  for (std::uint32_t i = 0; i < options_.clients; ++i)
    if (!logs_[i]->entered_since(when)) without.push_back(i);
  return without;
}

bool Workload::led_since(BootTime when) const {
  for (std::uint32_t i = options_.clients; i < all(); ++i)
    if (logs_[i]->inside_since(when)) return true;
  return false;
}

std::vector<Hold> Workload::history() const {
  std::vector<Hold> history;
  for (std::uint32_t i = 0; i < all(); ++i) logs_[i]->add_to(history, i);
  return history;
}

std::uint64_t Workload::lost() const {
  std::uint64_t all = 0;
  for (const HoldLog* log : logs_) all += log->lost;
  return all;
}

std::uint64_t Workload::broken() const {
  std::uint64_t all = 0;
  for (const HoldLog* log : logs_) all += log->broken;
  return all;
}

void Workload::end() {
  for (HoldLog* const log : logs_) log->stop = true;
  for (std::uint32_t i = 0; i < all(); ++i) {
    for (int polls = 0; polls < kMaxStopPolls && processes_[i] != 0; ++polls) {
      if (waitpid(processes_[i], nullptr, WNOHANG) != 0) processes_[i] = 0;
      if (processes_[i] != 0) sleep_for(1ms);
    }
    kill(i);
  }
}

}  // namespace tempo::faults
