// Machines whose datagrams the codec refuses, by address and reason, as evidence for `tempo
// doctor`.
//
// Only refusals that point to a mistake of an operator are kept: another cluster, another key or
// none, and a machine that never answers. An entry expires soon after the last datagram.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "platform/address.h"
#include "protocol/wire/codec.h"

namespace tempo::daemon {

class RefusedPeers {
 public:
  static constexpr std::size_t kMaxEntries = 32;
  static constexpr Nanos kExpiry = 10s;
  // A machine that has not answered for this time does not hear this one, or is not heard.
  static constexpr Nanos kMuteAfter = 5s;

  struct Entry {
    sys::Address address{};  // without its port
    wire::DropReason reason{};
    Instant first{};
    Instant last{};
    std::uint64_t count = 0;
  };

  void refuse(Instant now, const sys::Address& from, wire::DropReason reason);
  // A datagram of that address was accepted: the machine is live.
  void accept(const sys::Address& from);
  // The entries that are evidence now, oldest first.
  std::vector<Entry> entries(Instant now) const;

 private:
  std::vector<Entry> entries_;  // at most kMaxEntries
};

}  // namespace tempo::daemon
