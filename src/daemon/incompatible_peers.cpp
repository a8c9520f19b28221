#include "daemon/incompatible_peers.h"

#include <fmt/core.h>

#include "protocol/wire/datagram.h"

namespace tempo::daemon {
namespace {

constexpr Nanos kAbout = 1min;

}  // namespace

std::optional<std::string> IncompatiblePeers::receive(Instant now, const std::string& address,
                                                      std::uint8_t revision) {
  const bool news = about(now).empty();
  last_ = fmt::format(
      "the tempod at {} speaks revision {} of the protocol, this one revision {}: they cannot "
      "understand each other; upgrade the older one",
      address, revision, wire::kRevision);
  heard_ = now;
  return news ? std::optional(last_) : std::nullopt;
}

std::string IncompatiblePeers::about(Instant now) const {
  return last_.empty() || now - heard_ > kAbout ? "" : last_;
}

}  // namespace tempo::daemon
