// A request that is repeated about once a second over a connection of its own, for a command that
// waits for something else and shows what it waits for. It never blocks the command for more than a
// moment, and errors are ignored: it tries again.
#pragma once

#include <optional>
#include <string>

#include "api/control_protocol.h"
#include "base/units.h"
#include "client/client.h"

namespace tempo::cli {

class PeriodicRequest {
 public:
  // `enabled` false: it sends nothing.
  PeriodicRequest(std::string socket, ipc::Verb verb, bool enabled);

  int descriptor() const { return client_ ? client_->descriptor() : -1; }  // -1: not connected
  Nanos timeout() const;  // time until `update` must be called; at most one second
  // Sends the request if it is due; returns the newest reply that has arrived.
  std::optional<ipc::Reply> update();

 private:
  std::string socket_;
  ipc::Verb verb_;
  bool enabled_;
  std::optional<client::Client> client_;  // nullopt: not connected
  Instant due_;                           // next request, by steady_now()
};

}  // namespace tempo::cli
