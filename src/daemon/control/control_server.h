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
  static Result<std::unique_ptr<ControlServer>> open(Worker& worker, const std::string& path);
  virtual ~ControlServer() = default;
};

}  // namespace tempo::daemon
