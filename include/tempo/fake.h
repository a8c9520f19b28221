// libtempo: a network for tests, inside the test's process.
//
//   tempo::FakeNetwork network;                          // no tempod, no other machine
//   auto locks = network.locks();                        // a real tempo::Locks
//   auto lock = locks->acquire("printer");
//   network.lose("printer");                             // a fault that the program must handle
//   EXPECT_EQ(lock->remaining(), 0ns);
//
// The types are the real ones, and so is all of libtempo behind them; a thread of this process
// plays tempod. It grants locks in the order of the requests, with rising tokens, and extends
// leases. A candidate of a group leads as soon as it stands. `advance` moves the time of the
// network and of the machine. Faults happen only when the test asks for them. All functions may be
// called from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tempo/daemon.h"
#include "tempo/election.h"
#include "tempo/error.h"
#include "tempo/expected.h"
#include "tempo/lock.h"
#include "tempo/time.h"

namespace tempo {

class FakeNetwork {
 public:
  struct Options {
    std::chrono::nanoseconds lease = std::chrono::seconds{2};
    Now now = synchronized_at(NetworkTime{std::chrono::seconds{1'700'000'000}});
  };
  // A synchronized reading: `time` plus or minus `bound`.
  static Now synchronized_at(NetworkTime time,
                             std::chrono::nanoseconds bound = std::chrono::milliseconds{1});

  FakeNetwork();
  explicit FakeNetwork(const Options& options);
  ~FakeNetwork();  // closes all connections, as when tempod ends
  FakeNetwork(const FakeNetwork&) = delete;
  FakeNetwork& operator=(const FakeNetwork&) = delete;

  // --- objects for the program under test ---
  Expected<Locks, Error> locks() const;  // `advance` moves its clock
  Expected<Election, Error> stand(const std::string& group, const CandidateOptions& options = {})
      const;  // `advance` moves its clock
  Expected<Daemon, Error> daemon() const;
  Expected<TimePage, Error> page() const;
  // For programs that connect by path, in this process or another. `advance` moves network time for
  // them, but not their clock.
  std::string socket() const;
  std::string page_path() const;

  // --- time ---
  // Sets network time, which continues from there.
  void set_now(const Now& now);
  // Moves time forward by `span`: network time advances, and leases that are not extended expire.
  void advance(std::chrono::nanoseconds span);

  // --- locks ---
  // Another machine requests the lock: it gets it after the earlier requests, and keeps it until
  // `release_elsewhere`.
  void acquire_elsewhere(const std::string& name, bool shared = false);
  void release_elsewhere(const std::string& name);
  // The holders on this host lose the lock.
  void lose(const std::string& name);
  // From now on every request for a lock, and every candidacy, fails with this error; an empty
  // message: requests succeed again.
  void refuse(ErrorCode code, const std::string& message);
  std::size_t holders(const std::string& name) const;  // on this host
  std::size_t waiters(const std::string& name) const;  // on this host

  // --- groups ---
  // Another machine is elected (empty name: none). A leader on this host gets `on_stop`, and the
  // other machine leads when it has stopped.
  void elect_elsewhere(const std::string& group, const std::string& host = "elsewhere");
  // The candidate of this host leads again, as soon as it stands.
  void elect_here(const std::string& group);
  // Too few machines answer: a leader on this host loses its lease at once, and no machine leads
  // until `elect_here`.
  void lose_majority(const std::string& group);
  // Another machine has done the one job of the group.
  void finish_elsewhere(const std::string& group, const std::string& host = "elsewhere");
  bool leads(const std::string& group) const;  // this host
  // Capacity of the candidate of this host; nullopt: this host has no candidate.
  std::optional<std::int64_t> capacity(const std::string& group) const;

  // --- the daemon ---
  // While paused, the daemon neither grants nor extends nor answers, as after SIGSTOP.
  void pause();
  void resume();
  // Ends tempod and starts a new one that does not know the old clients: connections close, and
  // locks granted before last until their deadlines and are not granted again before that.
  void restart();
  void set_status(const Status& status);  // all but its time, which is network time
  void emit_event(const Event& event);    // sent to all watchers

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tempo
