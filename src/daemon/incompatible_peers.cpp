#include "daemon/incompatible_peers.h"

#include <fmt/core.h>

#include "protocol/wire/datagram.h"

namespace tempo::daemon {
namespace {

constexpr Nanos kExpiry = 1min;

}  // namespace

std::optional<std::string> IncompatiblePeers::receive(Instant now, const std::string& address,
                                                      std::uint8_t revision) {
  const bool first = about(now).empty();
  last_ = fmt::format(
      "tempod at {} uses protocol revision {}, this one revision {}: they are incompatible; "
      "upgrade the older one",
      address, revision, wire::kRevision);
  heard_ = now;
  return first ? std::optional(last_) : std::nullopt;
}

std::string IncompatiblePeers::about(Instant now) const {
  return last_.empty() || now - heard_ > kExpiry ? "" : last_;
}

}  // namespace tempo::daemon
