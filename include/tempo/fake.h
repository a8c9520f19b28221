// libtempo: a network for tests, in the test's own process.
//
//   tempo::FakeNetwork network;                          // no tempod, no other machine
//   auto locks = network.locks();                        // a tempo::Locks like any other
//   auto lock = locks->take("printer");
//   network.lose("printer");                             // what the program under test must bear
//   EXPECT_EQ(lock->remaining(), 0ns);
//
// The types are the real ones and so is all of libtempo: behind them a thread of this process plays
// tempod. Locks are granted in the order in which they are asked for, tokens rise, leases are
// extended; a candidate of a group leads as soon as it stands; time is the network's and the
// machine's, moved on by `advance` at will. What goes wrong goes wrong when the test says so.
// Everything here may be called from any thread.
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
  // A reading with this bound to either side.
  static Now synchronized_at(NetworkTime time,
                             std::chrono::nanoseconds bound = std::chrono::milliseconds{1});

  FakeNetwork();
  explicit FakeNetwork(const Options& options);
  ~FakeNetwork();  // connections are closed, as when tempod ends
  FakeNetwork(const FakeNetwork&) = delete;
  FakeNetwork& operator=(const FakeNetwork&) = delete;

  // --- what the program under test is given ---
  Expected<Locks, Error> locks() const;  // whose clock `advance` moves
  Expected<Election, Error> stand(const std::string& group,
                                  const CandidateOptions& options = {}) const;  // the same
  Expected<Daemon, Error> daemon() const;
  Expected<TimePage, std::string> page() const;
  // For programs that connect by path, of this or another process; `advance` does not move their
  // clock, only the network's time.
  std::string socket() const;
  std::string page_path() const;

  // --- time ---
  // The network's time is this from now on, and runs on from there.
  void set_now(const Now& now);
  // So much time passes at once: the network's runs on, and leases that are not extended run out.
  void advance(std::chrono::nanoseconds span);

  // --- locks ---
  // Another machine has it from now on, when those before it are done; until `free_elsewhere`.
  void take_elsewhere(const std::string& name, bool shared = false);
  void free_elsewhere(const std::string& name);
  // Whoever of this host has it loses it.
  void lose(const std::string& name);
  // From now on every request for a lock, and to stand for a group, fails with this; an empty
  // sentence: no more.
  void refuse(ErrorCode code, const std::string& sentence);
  std::size_t holders(const std::string& name) const;  // of this host
  std::size_t waiters(const std::string& name) const;

  // --- groups ---
  // Another machine is to lead from now on, for an empty name none; a leader of this host is told
  // to stop, and the other leads when it has.
  void elect_elsewhere(const std::string& group, const std::string& host = "elsewhere");
  // The candidate of this host leads again, as soon as it stands.
  void elect_here(const std::string& group);
  // Too few machines answer: a leader of this host loses its lease at once, nobody leads until
  // `elect_here`.
  void lose_majority(const std::string& group);
  // Another machine has done the one job of the group.
  void finish_elsewhere(const std::string& group, const std::string& host = "elsewhere");
  bool leads(const std::string& group) const;  // this host
  // What the candidate of this host offers; nothing: nobody here stands.
  std::optional<std::int64_t> capacity(const std::string& group) const;

  // --- the daemon ---
  // Paused, it neither grants nor extends nor answers, as one that was stopped with SIGSTOP.
  void pause();
  void resume();
  // Its end, and a new life without memory of its clients: connections are closed, what was granted
  // lasts until its deadline and is given to nobody before.
  void restart();
  void set_status(const Status& status);  // but for its time, which is the network's
  void notify(const Event& event);        // to those who watch

 private:
  class Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace tempo
