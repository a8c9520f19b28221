#include "daemon/crash_hint.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tempo::daemon {

CrashHint::CrashHint(const DaemonIdentity& identity)
    : settings_(identity.settings), codec_(make_codec(identity)) {
  open();
}

void CrashHint::open() {
  // Hosts that speak TSP do not read it.
  if (settings_.mode == config::Mode::classic) return;
  const auto networks = networks_of(settings_);
  complete_ = networks.has_value();
  if (!networks) return;
  networks_.clear();
  for (sys::NetworkOptions options : *networks) {
    // Sends from the first address only, with a port of the kernel's choice: nothing is received
    // here.
    options.bind.resize(std::min<std::size_t>(options.bind.size(), 1));
    for (sys::Address& address : options.bind) {
      const auto same = sys::Address::parse(address.text(), 0);
      if (same) address = *same;
    }
    options.port = 0;
    options.multicast = false;
    auto network = sys::Network::open(options, *oscillator_);
    if (network)
      networks_.push_back(std::move(*network));
    else
      complete_ = false;
  }
}

void CrashHint::rescan() {
  if (interfaces_.changed() || !complete_) open();
}

void CrashHint::send() {
  std::array<std::byte, wire::kMaxBytes> buffer;
  for (const auto& network : networks_) {
    const std::size_t size = codec_.crash_hint(buffer);
    network->broadcast({buffer.data(), size});
  }
}

}  // namespace tempo::daemon
