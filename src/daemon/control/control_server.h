// The daemon's door for programs on this host: JSON lines over a unix socket
// (doc/reference/control-protocol.md).
//
// Everybody who may open the socket may look; whoever wants to change something must be root or the
// user the daemon runs as. A program that does not read what it asked for is shown out.
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
