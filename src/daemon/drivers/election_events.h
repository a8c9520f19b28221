// Turns what the elections of this host report into events and log lines: masters that come and go,
// two masters, members that do not answer, time sources, the main part of the network.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "daemon/drivers/event_log.h"
#include "daemon/drivers/host_clock.h"
#include "daemon/drivers/transport.h"

namespace tempo::daemon {

class ElectionEvents {
 public:
  // All must outlive this object.
  struct Parts {
    Transport* transport = nullptr;
    EventLog* events = nullptr;
  };
  explicit ElectionEvents(const Parts& parts) : parts_(parts) {}

  void on_notice(const node::Node::ElectionNotice& notice);
  void on_notice(const node::Node::UpstreamChanged& changed);
  void on_notice(const node::Node::TimeLoop& loop);
  static void on_notice(const membership::Notice& notice);

  // Reports each change of an election state once.
  void report_states(Instant now, const node::Node& node);

 private:
  Parts parts_;
  std::array<std::string_view, node::kMaxNetworks> states_{};  // per network, as last reported
};

}  // namespace tempo::daemon
