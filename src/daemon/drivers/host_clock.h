// The two clocks of a host: raw time for the node, boot time for leases.
#pragma once

#include "daemon/drivers/runtime.h"
#include "platform/clocks/boot_clock.h"
#include "platform/clocks/oscillator.h"
#include "protocol/host/host.h"

namespace tempo::daemon {

struct HostClock {
  sys::Oscillator* oscillator = nullptr;
  Instant now() const { return oscillator->now(); }
  static BootTime boot() { return sys::boot_clock(); }
};

using HostRuntime = Runtime<host::Host, HostClock>;
extern template class Runtime<host::Host, HostClock>;

}  // namespace tempo::daemon
