// Programs that take locks or lead a group through libtempo, each a process of its own, and what
// they write down.
//
// Whatever they do is in memory that they have in common with who started them, so that it outlives
// them: a client that is killed inside leaves when it was last seen there. They go on, whatever
// becomes of their daemons, until they are told to end.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/units.h"
#include "history.h"

namespace tempo::faults {

// One client's pages. Written by one process at a time, read by another.
class Notes {
 public:
  static constexpr std::size_t kMaxHolds = 1 << 13;  // a client that has filled it rests

  bool full() const { return count_ >= kMaxHolds; }
  std::size_t count() const { return count_; }
  void enter(std::uint32_t lock, lock::Mode mode, lock::Token token, Instant at);
  void see(Instant at) { here().seen = at.time_since_epoch().count(); }
  void leave(Instant at) { here().left = at.time_since_epoch().count(); }

  bool entered_since(Instant when) const;
  bool inside_since(Instant when) const;  // it was seen there then or later
  void add_to(std::vector<Hold>& history, std::uint32_t client) const;

  std::atomic<std::uint64_t> lost = 0;    // holds that ended because the lease did
  std::atomic<std::uint64_t> broken = 0;  // connections that ended
  std::atomic<bool> over = false;         // it is to end

 private:
  struct Line {
    std::atomic<std::int64_t> entered, seen, left;  // `left` 0: it still is, or died there
    std::atomic<std::uint64_t> token;
    std::atomic<std::uint32_t> lock;
    std::atomic<bool> shared;
  };
  Line& here() { return lines_[count_ - 1]; }

  std::atomic<std::size_t> count_ = 0;
  std::array<Line, kMaxHolds> lines_{};
};

void rest(Nanos span);

class Workload {
 public:
  struct Options {
    std::uint64_t seed = 0;            // decides what each wants, and for how long
    std::vector<std::string> sockets;  // client i is at socket i modulo their number
    std::uint32_t clients = 8;
    std::uint32_t candidates = 0;  // of one group; numbered after the clients
    std::uint32_t locks = 3;       // at least two; leading the group is one more in the history
    Nanos lease{};
  };
  explicit Workload(Options order);  // all start
  ~Workload();                       // none is left
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  // Candidates are meant, too.
  void kill(std::uint32_t client);    // without a word; and waits until it is gone
  void revive(std::uint32_t client);  // another in its place, if it is dead
  void pause(std::uint32_t client, bool on) const;

  // Who has had no lock since then.
  std::vector<std::uint32_t> without_lock_since(Instant when) const;
  bool led_since(Instant when) const;  // somebody has
  std::vector<Hold> history() const;
  std::uint64_t lost() const;
  std::uint64_t broken() const;
  void end();  // all of them, in order

 private:
  void start(std::uint32_t client);
  std::uint32_t all() const { return order_.clients + order_.candidates; }

  Options order_;
  std::vector<Notes*> notes_;
  std::vector<pid_t> processes_;      // 0: dead
  std::vector<std::uint32_t> lives_;  // so far
};

}  // namespace tempo::faults
