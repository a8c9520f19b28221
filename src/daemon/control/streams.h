// Streams of the control server: snapshots (watch), events and trace lines. A connection has at
// most one; a new one replaces the old one.
#pragma once

#include <cstdint>
#include <map>

#include "api/control_protocol.h"
#include "daemon/control/connection.h"
#include "daemon/worker.h"

namespace tempo::daemon {

class Streams {
 public:
  explicit Streams(Worker& worker) : worker_(&worker) {}

  void begin(Connection& client, ipc::Verb verb);
  void end(Connection& client);
  // Writes new lines to all streams.
  void serve();

 private:
  struct Stream {
    ipc::Verb verb = ipc::Verb::events;
    Instant next{};                 // watch: earliest time of the next snapshot
    std::uint64_t events_sent = 0;  // watch and events: count of events sent
    bool names_sent = false;        // trace: the names of the hosts were sent
    std::uint64_t trace_sent = 0;   // trace: count of lines sent
  };

  void send_status(Connection& client, Stream& stream);
  void send_events(Connection& client, Stream& stream);
  void send_trace(Connection& client, Stream& stream);

  Worker* worker_;
  std::map<Connection*, Stream> streams_;
};

}  // namespace tempo::daemon
