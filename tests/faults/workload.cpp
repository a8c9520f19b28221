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
#include "workload.h"
#include "platform/clocks/boot_clock.h"
#include "tempo/lock.h"

namespace tempo::faults {
namespace {

constexpr std::uint32_t kCause = 2;
constexpr Nanos kLongestRest = 10ms;  // between two locks
constexpr Nanos kPatience = 300ms;    // with a daemon that does not answer
constexpr Nanos kNap = 1ms;           // between two looks at the clock, inside
constexpr int kEndingPolls = 5000;    // of a millisecond, for all to end

// In a process of its own.
class Client {
 public:
  Client(const Workload::Options& order, std::uint32_t number, std::uint32_t life, Notes& notes)
      : order_(&order), notes_(&notes), chance_(order.seed, kCause, number * 1000 + life) {
    socket_ = order.sockets[number % order.sockets.size()];
  }

  void run() {
    while (!notes_->over) {
      rest(chance_.uniform(Nanos{0}, kLongestRest));
      if (notes_->full() || !connected()) continue;
      take_one();
    }
  }

 private:
  bool connected() {
    if (locks_) return true;
    auto locks = Locks::connect(socket_, kPatience);
    if (!locks) return false;
    locks_.emplace(*std::move(locks));
    return true;
  }

  void take_one() {
    // The last lock is held for long, so that whatever goes wrong strikes somebody inside.
    const auto number = chance_.chance(0.03)
                            ? order_->locks - 1
                            : static_cast<std::uint32_t>(chance_.below(order_->locks - 1));
    const bool shared = chance_.chance(0.4);
    auto lock = locks_->acquire(fmt::format("seed{}-{}", order_->seed, number),
                                {.shared = shared, .wait = 2 * order_->lease});
    if (lock) return be_inside(*lock, number, shared);
    if (lock.error().code == ErrorCode::timed_out) return;
    locks_.reset();
    ++notes_->broken;
  }

  void be_inside(Lock& lock, std::uint32_t number, bool shared) {
    const Nanos span = number == order_->locks - 1
                           ? chance_.uniform(order_->lease / 2, 2 * order_->lease)
                           : chance_.uniform(Nanos{0}, order_->lease / 60);
    Instant until{lock.deadline()};
    const Instant entered = sys::boot_clock();
    if (entered >= until) return;  // told too late
    notes_->enter(number, shared ? lock::Mode::shared : lock::Mode::exclusive,
                  lock::Token{lock.token()}, entered);
    for (;;) {
      const Instant now = sys::boot_clock();
      if (now >= until) {
        ++notes_->lost;
        return notes_->leave(until);
      }
      notes_->see(now);
      if (now >= entered + span || notes_->over) return notes_->leave(now);
      rest(std::min({kNap, entered + span - now, until - now}));
      const Instant before = sys::boot_clock();
      const Nanos news = lock.deadline();
      if (news == Nanos{0}) {  // told that it is lost; until then it could act
        ++notes_->lost;
        return notes_->leave(std::min(before, until));
      }
      until = Instant{news};
    }
  }

  const Workload::Options* order_;
  Notes* notes_;
  Stream chance_;
  std::string socket_;
  std::optional<Locks> locks_;
};

}  // namespace

void rest(Nanos span) {
  const timespec time{.tv_sec = span / 1s, .tv_nsec = (span % 1s).count()};
  nanosleep(&time, nullptr);
}

// --- notes ---

void Notes::enter(std::uint32_t lock, lock::Mode mode, lock::Token token, Instant at) {
  Line& line = lines_[count_];
  line.lock = lock;
  line.shared = mode == lock::Mode::shared;
  line.token = std::to_underlying(token);
  line.left = 0;
  line.seen = at.time_since_epoch().count();
  line.entered = at.time_since_epoch().count();
  ++count_;
}

bool Notes::entered_since(Instant when) const {
  const std::size_t count = count_;
  return count > 0 && Instant{Nanos{lines_[count - 1].entered}} >= when;
}

bool Notes::inside_since(Instant when) const {
  const std::size_t count = count_;
  return count > 0 && Instant{Nanos{lines_[count - 1].seen}} >= when;
}

void Notes::add_to(std::vector<Hold>& history, std::uint32_t client) const {
  const std::size_t count = count_;
  for (std::size_t i = 0; i < count; ++i) {
    const Line& line = lines_[i];
    history.push_back({.client = client,
                       .lock = line.lock,
                       .mode = line.shared ? lock::Mode::shared : lock::Mode::exclusive,
                       .token = lock::Token{line.token.load()},
                       .entered = Instant{Nanos{line.entered}},
                       .left = Instant{Nanos{line.left != 0 ? line.left : line.seen}}});
  }
}

// --- the crew ---

Workload::Workload(Options order) : order_(std::move(order)), processes_(all()), lives_(all()) {
  for (std::uint32_t i = 0; i < all(); ++i) {
    void* const memory =
        mmap(nullptr, sizeof(Notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no memory for the notes of clients");
    notes_.push_back(new (memory) Notes);
  }
  for (std::uint32_t i = 0; i < all(); ++i) start(i);
}

Workload::~Workload() {
  for (std::uint32_t i = 0; i < all(); ++i) kill(i);
  for (Notes* const notes : notes_) munmap(notes, sizeof(Notes));
}

void Workload::start(std::uint32_t client) {
  const std::uint32_t life = lives_[client]++;
  const pid_t process = fork();
  if (process < 0) throw std::runtime_error("no process for a client");
  processes_[client] = process;
  if (process != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // none outlives a test that was aborted
  if (client < order_.clients)
    Client(order_, client, life, *notes_[client]).run();
  else
    Candidate(order_, client, life, *notes_[client]).run();
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

std::vector<std::uint32_t> Workload::without_lock_since(Instant when) const {
  std::vector<std::uint32_t> without;
  for (std::uint32_t i = 0; i < order_.clients; ++i)
    if (!notes_[i]->entered_since(when)) without.push_back(i);
  return without;
}

bool Workload::led_since(Instant when) const {
  for (std::uint32_t i = order_.clients; i < all(); ++i)
    if (notes_[i]->inside_since(when)) return true;
  return false;
}

std::vector<Hold> Workload::history() const {
  std::vector<Hold> history;
  for (std::uint32_t i = 0; i < all(); ++i) notes_[i]->add_to(history, i);
  return history;
}

std::uint64_t Workload::lost() const {
  std::uint64_t all = 0;
  for (const Notes* notes : notes_) all += notes->lost;
  return all;
}

std::uint64_t Workload::broken() const {
  std::uint64_t all = 0;
  for (const Notes* notes : notes_) all += notes->broken;
  return all;
}

void Workload::end() {
  for (Notes* const notes : notes_) notes->over = true;
  for (std::uint32_t i = 0; i < all(); ++i) {
    for (int polls = 0; polls < kEndingPolls && processes_[i] != 0; ++polls) {
      if (waitpid(processes_[i], nullptr, WNOHANG) != 0) processes_[i] = 0;
      if (processes_[i] != 0) rest(1ms);
    }
    kill(i);
  }
}

}  // namespace tempo::faults
