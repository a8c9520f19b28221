// Reports the state of the daemon to the service manager, by systemd's notification protocol.
//
// Without a manager every call does nothing. No call blocks; a datagram that cannot be delivered is
// dropped.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"
#include "platform/descriptor.h"

namespace tempo::sys {

class Notifier {
 public:
  // `path` of the manager's socket, "@name" in the abstract namespace; empty: no manager.
  explicit Notifier(std::string path, std::optional<Nanos> watchdog = {});
  static Notifier from_environment();  // NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID

  void ready(std::string_view status);
  void status(std::string_view text);
  void alive();  // call it at least once per `watchdog`, better twice
  void stopping();

  std::optional<Nanos> watchdog() const { return watchdog_; }  // unset: no watchdog
  bool listening() const { return !socket_.none(); }

 private:
  void notify(const std::string& text);

  Descriptor socket_;
  std::string path_;
  std::optional<Nanos> watchdog_;
};

// Watchdog interval from WATCHDOG_USEC and WATCHDOG_PID for the process `self`; empty text:
// variable not set.
std::optional<Nanos> watchdog_of(std::string_view microseconds, std::string_view process, int self);

}  // namespace tempo::sys
