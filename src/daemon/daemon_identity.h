// Identity of the daemon in one incarnation: id, name, keys and networks.
//
// The parent creates it before fork() and keeps a copy for the crash hint.
#pragma once

#include <memory>
#include <string>
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
  wire::Nonce nonce{};  // random number of this incarnation
  std::string name;
  std::string machine_id;       // text from which `host` is computed
  std::string machine_id_from;  // origin of that text, for users
  std::string configuration{};  // the file that was read, or that there is none, for the log
  auth::Keyring keys;
  std::shared_ptr<const auth::NodeKeys>
      node_keys;  // keys for signed elections; null: this machine does not sign
  State state;
  // The steered system clock of the first worker starts no earlier: the last write of the state
  // before this start. Zero once a worker has run for a while: an operator may turn the time back.
  WallTime clock_floor{};
};

// Reads keys and state and determines the id of this host. A key file that cannot be used is an
// error.
Result<DaemonIdentity> load_identity(const config::Settings& settings);

// In a simulator many daemons share one machine id: unless the settings have a machine id, the
// addresses become part of it.
void share_machine_id(DaemonIdentity& identity);

// Time at which the clock of the node starts. A machine without a battery-backed clock boots in 1970
// or 2000; its clock starts at the floor. A clock that tempod does not steer is taken as it is.
WallTime first_time(const DaemonIdentity& identity, WallTime clock);

// Starts a new incarnation of the same host.
void new_incarnation(DaemonIdentity& identity);
// The same, recorded in the state directory. An incarnation that cannot be recorded is random: the
// next start would find the same record and, within the same second, choose the same incarnation.
// The error is that of the record.
Result<void> begin_incarnation(DaemonIdentity& identity);

// Every codec has a secret of its own, so that challenges of one process are of no use to another.
wire::Codec make_codec(const DaemonIdentity& identity);

// The current networks according to the settings.
Result<std::vector<sys::NetworkOptions>> networks_of(const config::Settings& settings);

struct KeyFile {
  std::string text{};
  auth::Keyring keys{};  // empty: no key is configured
};
// Reads the cluster keys. There is none only if the settings say so, or if there is no file at the
// default path. Everything else is an error: a file that is empty, unreadable, not regular, of
// another user than root and the daemon's, or open to others.
Result<KeyFile> read_keys(const config::Settings& settings);
// The same for a daemon that runs: also an error if it would lose the key that seals, or accept
// datagrams without a key that it has refused so far.
Result<KeyFile> read_keys_again(const config::Settings& settings, const auth::Keyring& in_use);

}  // namespace tempo::daemon
