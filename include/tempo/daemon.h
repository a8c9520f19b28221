// libtempo: what tempod knows: the time, who is master, who is there, what happens.
//
//   auto daemon = tempo::Daemon::connect();
//   if (!daemon) return complain(daemon.error().sentence);
//   auto status = daemon->status();                     // one picture
//   auto watch = daemon->watch();                       // and all that follow, on this connection
//   while (auto news = watch->next(std::chrono::seconds{10})) ...
//
// Whoever reads the time often reads it from tempod's page (time.h), without asking anybody. Every
// wait has an end and can be cancelled. Both classes are for one thread at a time, and a child of
// fork() connects anew.
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
  std::string role;     // master, follower, ... as in doc/reference/control-protocol.md
  bool self = false;    // this host
  bool faulty = false;  // its clock is left out
  double heard_ago_s = 0;
};

struct Status {
  std::string name;  // this host's
  std::string cluster;
  std::string version;  // of tempod
  Now now;              // as it was when the picture was made
  std::string master;   // of the first network; empty: none now
  std::string locks;    // what is promised of locks, or why there are none; empty: not asked for
  std::vector<Member> members;
  std::vector<std::string> warnings;
  std::string
      json;  // everything that tempod said: the snapshot of doc/reference/control-protocol.md
};

struct Event {
  std::string name;  // became-master, lost-master, ...
  NetworkTime at{};
  std::string text;  // a sentence
};

struct Update {
  std::optional<Status> status;  // at every change, and once a second
  std::optional<Event> event;
};

class DaemonConnection;

// News as it comes. It ends with its connection.
class Watch {
 public:
  ~Watch();
  Watch(Watch&&) noexcept;
  Watch& operator=(Watch&&) noexcept;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // What comes next, waited for at most so long, and not once the descriptor `cancel` can be read;
  // 0: only what has come already. A failure that is too late or cancelled is not the end.
  Expected<Update, Error> next(std::chrono::nanoseconds wait, int cancel = -1);
  // Can be read when there is more; what has come already is taken first, by next(0).
  int descriptor() const;

 private:
  friend class Daemon;
  explicit Watch(std::unique_ptr<DaemonConnection> connection);
  std::unique_ptr<DaemonConnection> connection_;
};

class Daemon {
 public:
  // No single answer is waited for longer than `patience`.
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
  // On a connection of its own.
  Expected<Watch, Error> watch();

 private:
  explicit Daemon(std::unique_ptr<DaemonConnection> connection);
  std::unique_ptr<DaemonConnection> connection_;
};

}  // namespace tempo
