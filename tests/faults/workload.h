// Programs that take locks or lead a group through libtempo, each in its own process, and the logs
// that they write.
//
// The logs are in memory shared with the test, so they survive a killed client: its last hold ends
// when the client was last seen in it. Clients continue through every fault of their daemons until
// the test stops them.
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

// The holds of one client. One process writes, the test reads.
class HoldLog {
 public:
  static constexpr std::size_t kMaxHolds = 1 << 13;  // a client with a full log takes no more locks

  bool full() const { return count_ >= kMaxHolds; }
  std::size_t count() const { return count_; }
  void enter(std::uint32_t lock, lock::Mode mode, lock::Token token, BootTime at);
  void update(BootTime at) { last().seen = at.time_since_epoch().count(); }
  void leave(BootTime at) { last().left = at.time_since_epoch().count(); }

  bool entered_since(BootTime when) const;
  bool inside_since(BootTime when) const;  // held a lock then or later
  void add_to(std::vector<Hold>& history, std::uint32_t client) const;

  std::atomic<std::uint64_t> lost = 0;    // holds that ended because the lease did
  std::atomic<std::uint64_t> broken = 0;  // connections closed by the daemon or after an error
  std::atomic<bool> stop = false;         // the client must end

 private:
  struct Line {
    // Boot time in ns; `left` 0: still held, or the client died.
    std::atomic<std::int64_t> entered, seen, left;
    std::atomic<std::uint64_t> token;
    std::atomic<std::uint32_t> lock;
    std::atomic<bool> shared;
  };
  Line& last() { return lines_[count_ - 1]; }

  std::atomic<std::size_t> count_ = 0;
  std::array<Line, kMaxHolds> lines_{};
};

void sleep_for(Nanos span);

class Workload {
 public:
  struct Options {
    std::uint64_t seed = 0;            // of the locks that clients take and how long they hold them
    std::vector<std::string> sockets;  // client i uses socket i modulo their number
    std::uint32_t clients = 8;
    std::uint32_t candidates = 0;  // for one group; numbered after the clients
    std::uint32_t locks = 3;       // at least two; the history has one more for the group
    Nanos lease{};
  };
  explicit Workload(Options options);  // starts all clients
  ~Workload();                         // kills all clients
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  // `client` may also be a candidate.
  void kill(std::uint32_t client);    // by SIGKILL; waits until the process has ended
  void revive(std::uint32_t client);  // starts a new process if the client is dead
  void pause(std::uint32_t client, bool on) const;

  // Clients that have acquired no lock since then.
  std::vector<std::uint32_t> without_lock_since(BootTime when) const;
  bool led_since(BootTime when) const;  // a candidate led then or later
  std::vector<Hold> history() const;
  std::uint64_t lost() const;
  std::uint64_t broken() const;
  void end();  // stops all clients cleanly; kills those that do not end

 private:
  void start(std::uint32_t client);
  std::uint32_t all() const { return options_.clients + options_.candidates; }

  Options options_;
  std::vector<HoldLog*> logs_;
  std::vector<pid_t> processes_;             // 0: dead
  std::vector<std::uint32_t> incarnations_;  // processes started per client
};

}  // namespace tempo::faults
