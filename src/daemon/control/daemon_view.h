// The state of the daemon as one obs::Snapshot.
//
// Reads only. src/api turns the snapshot into texts, tables and metrics.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/snapshot.h"
#include "base/ids.h"
#include "daemon/daemon_identity.h"
#include "daemon/drivers/links.h"
#include "daemon/drivers/lock_backend.h"
#include "protocol/group/service.h"
#include "protocol/host/announcements.h"
#include "protocol/membership/view.h"
#include "protocol/sync/node.h"
#include "protocol/wire/codec.h"

namespace tempo::daemon {

struct DaemonView {
  const DaemonIdentity* identity = nullptr;
  const wire::Codec* codec = nullptr;
  const node::Node* node = nullptr;
  const membership::View* agreed = nullptr;  // the machines that vote on the main part
  const Links* links = nullptr;
  const announce::Announcements* announcements = nullptr;
  Instant now{};
  Instant started{};
  Instant keys_since{};                     // the keys are in use since then
  bool duplicate_id = false;                // another machine has the id of this host
  std::string clock_error{};                // last error of the system clock; empty: none
  std::vector<std::string> utc_warnings{};  // one for each source of UTC that is outvoted
  std::string disk_error{};                 // the state cannot be saved; empty: it can
  std::string incompatible_peer{};          // warning about an incompatible daemon; empty: none
  std::uint64_t unsent = 0;                 // messages to hosts whose address is unknown
  std::uint64_t stalls = 0;
  std::uint64_t reelect_honoured = 0;  // requests of other hosts to resign
  std::uint64_t reelect_refused = 0;
  std::uint64_t joined = 0;                       // newcomers that used an invitation
  std::uint64_t joins_refused = 0;                // their requests without an answer
  LockBackend::Counts lock_counts{};              // of the clients of this host
  std::map<std::string, std::uint64_t> events{};  // by name, since the start
  std::string locks{};  // lock status in one sentence; empty: no locks configured
  std::vector<std::string> lock_warnings{};  // about the voters
  std::vector<groups::Known> groups{};       // all groups known here
};
obs::Snapshot make_snapshot(const DaemonView& view);

// Why any machine on the network could become master, and the cure; empty: it needs a key.
std::string key_warning(const auth::Keyring& keys);

// Name of a clock for users, as in tempo.toml.
std::string_view clock_name(config::ClockKind kind);

// Name of an election state for users: the election's own name, except that a slave of the papers
// is a follower.
std::string_view state_name(election::State state);

// Warning that members which take locks have other lease times than this one; empty: none has. A
// member promises no lease that is longer than its own longest one.
std::string lease_warning(const std::vector<obs::MemberView>& members);

// Warning that the directory of hosts was too small within the last hour; empty: it was not.
std::string crowding_warning(const wire::Directory& directory, Instant now);

// Name of a host for users: its name, or its id if it has no name here.
std::string name_of_host(const wire::Codec& codec, HostId host);
std::string name_of_node(const wire::Codec& codec, NodeId node);
std::string id_text(const wire::Codec& codec, NodeId node);

}  // namespace tempo::daemon
