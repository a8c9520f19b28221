// The control server: JSON lines over a unix socket for programs on this host
// (doc/reference/control-protocol.md).
//
// Every process that can open the socket may read. Changes require root or the user of the daemon;
// locks and groups also admit the group of the daemon. A client that does not read its answers is
// disconnected.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "platform/loop.h"

namespace tempo::daemon {

class Connection;
class Worker;

// Answers the requests of clients.
class Answers {
 public:
  Answers() = default;
  virtual ~Answers() = default;
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  // The reply to a line of a client; empty: it follows later.
  virtual std::string answer(Connection& client, const std::string& line) = 0;
  virtual void serve_streams() {}
  virtual void disconnect(Connection& client) = 0;
};

// The process that the server belongs to; everything outlives the server.
struct ServedProcess {
  sys::Loop* loop = nullptr;
  std::function<Instant()> now{};
  // Has the callback called after every round of the loop; empty: none.
  std::function<void(std::function<void()>)> each_round{};
  std::vector<std::string> candidates{};  // users that may stand for groups and nothing more
};

class ControlServer {
 public:
  // Listens on `path` and serves clients in the loop of the worker, which must outlive it.
  static Result<ControlServer> open(Worker& worker, const std::string& path);
  static Result<ControlServer> open(ServedProcess process, std::unique_ptr<Answers> answers,
                                    const std::string& path);
  ControlServer(ControlServer&&) noexcept;
  ControlServer& operator=(ControlServer&&) = delete;
  ~ControlServer();

 private:
  class Impl;
  explicit ControlServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace tempo::daemon
