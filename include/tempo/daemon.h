// libtempo: tempod's time, status and events.
//
//   auto daemon = tempo::Daemon::connect();
//   if (!daemon) return print_error(daemon.error().message);
//   auto status = daemon->status();                     // one snapshot
//   auto watch = daemon->watch();                       // a stream of snapshots and events
//   while (auto update = watch->next(std::chrono::seconds{10})) ...
//
// Programs that read the time often use tempod's page (time.h), which needs no request. Every wait
// is bounded and can be cancelled. Both classes are for one thread at a time. After fork() the
// child must open its own connection.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tempo/error.h"
#include "tempo/expected.h"
#include "tempo/time.h"

namespace tempo {

struct Member {
  std::string name;
  std::string address;
  std::string role;        // "master", "follower", ...: doc/reference/control-protocol.md
  bool self = false;       // this host
  bool faulty = false;     // the master excludes its clock from the average
  double heard_ago_s = 0;  // seconds since its last datagram
};

struct Status {
  std::string name;  // of this host
  std::string cluster;
  std::string version;  // of tempod
  Now now;              // at the time of the snapshot
  std::string master;   // of the first network; empty: none
  std::string locks;    // how many voters locks need, or why there are none; empty: not configured
  std::vector<Member> members;
  std::vector<std::string> warnings;
  std::string json;  // the complete snapshot: doc/reference/control-protocol.md
};

struct Event {
  std::string name;  // "became-master", "lost-master", ...
  NetworkTime at{};
  std::string text;  // a sentence for people
};

// Exactly one of the two is set.
struct Update {
  std::optional<Status> status;  // sent on every change and at least once a second
  std::optional<Event> event;
};

class DaemonConnection;

// A stream of updates. It ends when its connection ends.
class Watch {
 public:
  ~Watch();
  Watch(Watch&&) noexcept;
  Watch& operator=(Watch&&) noexcept;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Returns the next update. Waits at most `wait` (0: returns only an update that has arrived
  // already), or until the descriptor `cancel` is readable (-1: none). After `timed_out` and
  // `cancelled` the stream continues; after any other error it is over.
  Expected<Update, Error> next(std::chrono::nanoseconds wait, int cancel = -1);
  // Readable when more data has arrived. Call next(0) until it times out before polling it.
  int descriptor() const;

 private:
  friend class Daemon;
  explicit Watch(std::unique_ptr<DaemonConnection> connection);
  std::unique_ptr<DaemonConnection> connection_;
};

class Daemon {
 public:
  // `timeout`: longest wait for the connection and for each answer.
  static Expected<Daemon, Error> connect(const std::string& socket = kDefaultControlSocket,
                                         std::chrono::nanoseconds timeout = std::chrono::seconds{
                                             5});
  ~Daemon();
  Daemon(Daemon&&) noexcept;
  Daemon& operator=(Daemon&&) noexcept;
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  Expected<Now, Error> now();
  Expected<Status, Error> status();
  // Opens a separate connection for the stream.
  Expected<Watch, Error> watch();

 private:
  explicit Daemon(std::unique_ptr<DaemonConnection> connection);
  std::unique_ptr<DaemonConnection> connection_;
};

}  // namespace tempo
