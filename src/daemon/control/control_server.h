// The control server: JSON lines over a unix socket for programs on this host
// (doc/reference/control-protocol.md).
//
// Every process that can open the socket may read. Changes require root or the user of the daemon;
// locks and groups also admit the group of the daemon. A client that does not read its answers is
// disconnected.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace tempo::daemon {

class Worker;

class ControlServer {
 public:
  // Listens on `path` and serves clients in the loop of the worker, which must outlive it.
  static Result<ControlServer> open(Worker& worker, const std::string& path);
  ControlServer(ControlServer&&) noexcept;
  ControlServer& operator=(ControlServer&&) = delete;
  ~ControlServer();

 private:
  class Impl;
  explicit ControlServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace tempo::daemon
