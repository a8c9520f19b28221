// Daemons with an incompatible revision of the protocol.
//
// The first datagram of such a daemon is reported. Until a minute after the last one, it is only
// shown as a warning. Only its address is known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.h"

namespace tempo::daemon {

class IncompatiblePeers {
 public:
  // Returns a sentence if no incompatible daemon was known before.
  std::optional<std::string> receive(Instant now, const std::string& address,
                                     std::uint8_t revision);

  // Sentence about the latest one; empty: none within the last minute.
  std::string about(Instant now) const;

 private:
  std::string last_;
  Instant heard_{};  // time of `last_`
};

}  // namespace tempo::daemon
