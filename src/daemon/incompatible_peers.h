// Daemons whose revision of the protocol is too far from ours to be understood.
//
// One that is heard is news; while it goes on being heard, and for a minute after, it is only
// something to know. The address is all that can be said of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.h"

namespace tempo::daemon {

class IncompatiblePeers {
 public:
  // A sentence, if there was none about.
  std::optional<std::string> receive(Instant now, const std::string& address,
                                     std::uint8_t revision);

  // The same, of the one heard last; empty: there is none about.
  std::string about(Instant now) const;

 private:
  std::string last_;
  Instant heard_{};  // with `last_`
};

}  // namespace tempo::daemon
