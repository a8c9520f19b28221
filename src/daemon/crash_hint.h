// The crash hint: one datagram to all members on each network when the worker dies.
//
// If the worker was master, the cluster has no master until the others receive the hint. The parent
// therefore prepares everything while the worker runs: it scans interfaces and opens sockets.
#pragma once

#include <memory>
#include <vector>

#include "daemon/daemon_identity.h"
#include "platform/clocks/oscillator.h"
#include "platform/interface_watch.h"
#include "platform/network.h"
#include "protocol/wire/codec.h"

namespace tempo::daemon {

class CrashHint {
 public:
  explicit CrashHint(const DaemonIdentity& identity);

  // Call it periodically, because interfaces appear and disappear.
  void rescan();

  // Announces that the worker of this incarnation is dead.
  void send();

 private:
  void open();

  config::Settings settings_;
  wire::Codec codec_;
  std::unique_ptr<sys::Oscillator> oscillator_ = sys::real_oscillator();
  sys::InterfaceWatch interfaces_;
  std::vector<std::unique_ptr<sys::Network>> networks_;
  bool complete_ = true;  // false: an address was not usable yet
};

}  // namespace tempo::daemon
