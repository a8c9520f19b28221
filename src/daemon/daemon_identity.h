// One life of the daemon on this host: who it is, whom it believes, which networks it is on.
//
// The parent makes it and its child works by it; the parent keeps what it needs to say, when the
// child dies, that it did.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/settings.h"
#include "base/ids.h"
#include "base/result.h"
#include "daemon/state.h"
#include "platform/network.h"
#include "protocol/auth/node_keys.h"
#include "protocol/wire/codec.h"

namespace tempo::daemon {

struct DaemonIdentity {
  config::Settings settings;
  HostId host = kNoHost;
  Incarnation incarnation{};
  std::string name;
  std::string machine_id;       // what the host's id is made from
  std::string machine_id_from;  // where that came from, for people
  auth::Keyring keys;
  std::shared_ptr<const auth::NodeKeys> node_keys;  // of machines that sign; null: we do not
  State state;
};

// Reads the keys and the state, and finds out who we are. A key file that must be there and is not,
// or can be read by others, is an error.
Result<DaemonIdentity> load_identity(const config::Settings& settings);

// In a simulator many daemons share one machine: unless the settings name an id, each takes its
// addresses for a part of it.
void share_machine_id(DaemonIdentity& identity);

// The same host, born again.
void new_incarnation(DaemonIdentity& identity);

node::Codec make_codec(const DaemonIdentity& identity);

// The networks by the settings, as they are now.
Result<std::vector<sys::NetworkOptions>> networks_of(const config::Settings& settings);

// The key file's text, empty if there is none and need not be one.
Result<std::string> read_key_file(const config::Settings& settings);
Result<auth::Keyring> parse_key_file(const config::Settings& settings, std::string_view text);

}  // namespace tempo::daemon
