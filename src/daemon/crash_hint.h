// What the parent says when its worker dies: one datagram to everybody on each network.
//
// Every millisecond between the death and the datagram is one without a master, so that everything
// that can be done before is: interfaces are looked at and sockets opened while the worker lives.
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

  // Now and then: interfaces come and go.
  void look_again();

  // The process that was this host's master in that life is gone.
  void send();

 private:
  void open();

  config::Settings settings_;
  node::Codec codec_;
  std::unique_ptr<sys::Oscillator> oscillator_ = sys::real_oscillator();
  sys::InterfaceWatch interfaces_;
  std::vector<std::unique_ptr<sys::Network>> networks_;
  bool complete_ = true;  // an address may not be usable at once
};

}  // namespace tempo::daemon
