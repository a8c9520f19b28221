// `reelect` on this host: local clients ask for a new election, and other hosts ask this one to
// resign. A running master ends every election with Quit, so only the master itself can start one,
// by resigning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "api/control_protocol.h"
#include "base/result.h"
#include "daemon/control/reelection.h"
#include "daemon/drivers/event_log.h"
#include "daemon/drivers/host_clock.h"
#include "daemon/drivers/transport.h"

namespace tempo::daemon {

class ReelectDriver {
 public:
  // All must outlive the driver.
  struct Parts {
    Transport* transport = nullptr;
    HostRuntime* host = nullptr;
    EventLog* events = nullptr;
  };
  explicit ReelectDriver(const Parts& parts) : parts_(parts) {}

  // Resigns if this host is master, else asks the master to. A number: the master has been asked,
  // and `result` returns the result later; unset: not yet.
  using ReelectResult = Result<ipc::Reelected, ipc::Refusal>;
  std::variant<ReelectResult, std::uint32_t> reelect();
  std::optional<ReelectResult> result(std::uint32_t number) const;
  void withdraw(std::uint32_t number) { request_.withdraw(number); }  // a client is gone

  void receive(std::uint8_t network, NodeId from, const wire::DiagnosticBody& body);
  Instant next() const { return request_.next(); }  // when to call send_due
  void send_due();

  const ReelectLimiter& limiter() const { return limiter_; }

 private:
  const node::Node& node() const { return parts_.host->machine().node(); }
  bool leads(std::uint8_t network) const;
  void resign(std::uint8_t network, const std::string& asker);
  Result<std::uint8_t, ipc::Refusal> network_to_reelect() const;

  Parts parts_;
  ReelectRequest request_;
  ReelectLimiter limiter_;
};

}  // namespace tempo::daemon
