// What the daemon tells of itself: everything it knows, as one obs::Snapshot.
//
// Reads and changes nothing. Texts, tables and metrics are made of it in live/obs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/snapshot.h"
#include "base/ids.h"
#include "daemon/daemon_identity.h"
#include "daemon/links.h"
#include "protocol/group/service.h"
#include "protocol/sync/node.h"
#include "protocol/wire/codec.h"

namespace tempo::daemon {

inline constexpr const char* kNoKey =
    "no key: whoever is on the network can lead it; 'tempo keygen' makes one";

struct DaemonView {
  const DaemonIdentity* identity = nullptr;
  const node::Codec* codec = nullptr;
  const node::Node* node = nullptr;
  const Links* links = nullptr;
  Instant now{};
  Instant started{};
  bool stays_out = false;           // another machine has our id
  std::string clock_trouble{};      // the last failure of the kernel's clock
  std::string incompatible_peer{};  // a daemon of another revision
  std::uint64_t unsent = 0;         // messages for hosts whose address is not known
  std::uint64_t stalls = 0;
  std::string locks{};                  // what is promised of them
  std::vector<groups::Known> groups{};  // that are known here
};
obs::Snapshot make_snapshot(const DaemonView& view);

// Name of an election state for users: the election's own name, except that a slave of the papers
// is a follower.
std::string_view state_name(election::State state);

// As people are told of a host: its name, or its id if it has none.
std::string name_of_node(const node::Codec& codec, NodeId node);
std::string id_text(const node::Codec& codec, NodeId node);

}  // namespace tempo::daemon
