#include "daemon/daemon_identity.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "daemon/log.h"
#include "platform/confinement.h"
#include "platform/host.h"
#include "platform/whole_file.h"

namespace tempo::daemon {

namespace {

constexpr std::size_t kMaxKeyBytes = 4096;
constexpr std::size_t kMaxListBytes = 65536;

sys::FileText read_secret(const config::Settings& settings, const std::string& path) {
  std::vector<uid_t> owners{::geteuid()};
  if (const auto user = sys::user_id(settings.user)) owners.push_back(*user);
  return sys::read_secret(path, kMaxKeyBytes, owners);
}

// Reason why a key file has no text. `option` is the option of 'tempo keygen' that creates such a
// file.
std::unexpected<std::string> no_secret(const sys::FileText& file, const std::string& path,
                                       std::string_view option) {
  if (file.state == sys::FileState::lost) return std::unexpected("key file: " + file.error);
  return std::unexpected(fmt::format(
      "key file: {0} does not exist; create it with 'tempo keygen {1}{0}'", path, option));
}

// Signed elections need the key of this machine and the list of all keys.
Result<std::shared_ptr<const auth::NodeKeys>> read_node_keys(const config::Settings& settings) {
  if (settings.node_key_file.empty()) return nullptr;
  const auto fail = [](const std::string& path) {
    return [path](const std::string& why) {
      return std::unexpected(fmt::format("{}: {}", path, why));
    };
  };
  const sys::FileText secret = read_secret(settings, settings.node_key_file);
  if (secret.state != sys::FileState::good)
    return no_secret(secret, settings.node_key_file, "--node ");
  const auto seed = auth::parse_node_key(secret.text);
  if (!seed) return fail(settings.node_key_file)(seed.error());
  const sys::FileText listed = sys::read_file(settings.node_list_file, kMaxListBytes);
  if (listed.state == sys::FileState::lost) return std::unexpected(listed.error);
  auto list = auth::parse_node_list(listed.text);
  if (!list) return fail(settings.node_list_file)(list.error());
  auto keys = auth::NodeKeys::make(*seed, *std::move(list));
  if (!keys) return fail(settings.node_list_file)(keys.error());
  return std::make_shared<const auth::NodeKeys>(*std::move(keys));
}

}  // namespace

Result<KeyFile> read_keys(const config::Settings& settings) {
  const std::string& path = settings.key_file;
  if (path.empty()) return KeyFile{};
  sys::FileText file = read_secret(settings, path);
  if (file.state == sys::FileState::absent && !settings.key_file_given) return KeyFile{};
  if (file.state != sys::FileState::good) return no_secret(file, path, "");
  auto keys = auth::parse_keys(file.text);
  if (!keys)
    return std::unexpected(fmt::format(
        "key file: {0}: {1}; restore it, or create a key with 'tempo keygen --force {0}'", path,
        keys.error()));
  return KeyFile{.text = std::move(file.text), .keys = auth::Keyring(*keys)};
}

Result<KeyFile> read_keys_again(const config::Settings& settings, const auth::Keyring& in_use) {
  TRY(file, read_keys(settings));
  if (file.keys.empty() && in_use.sealing_id() != 0)
    return std::unexpected(
        settings.key_file.empty()
            ? "a reload does not remove the last key; restart tempod to run without a key"
            : fmt::format("key file: {} does not exist, but tempod uses a key; restore the file, "
                          "or restart tempod to run without a key",
                          settings.key_file));
  if (file.keys.accepts_unsealed() && !in_use.accepts_unsealed())
    return std::unexpected(
        fmt::format("key file: {} accepts datagrams without a key, but tempod demands one; remove "
                    "the line 'no-key', or restart tempod to accept them",
                    settings.key_file));
  return file;
}

Result<DaemonIdentity> load_identity(const config::Settings& settings) {
  TRY(key_file, read_keys(settings));
  TRY(node_keys, read_node_keys(settings));
  DaemonIdentity identity;
  identity.settings = settings;
  identity.keys = std::move(key_file.keys);
  identity.node_keys = std::move(node_keys);
  identity.machine_id = settings.machine_id;
  identity.machine_id_from = "the configuration";
  if (identity.machine_id.empty()) {
    const sys::MachineId machine = sys::machine_id({.state_directory = settings.state_dir});
    identity.machine_id = machine.text;
    switch (machine.source) {
      case sys::MachineId::Source::machine_id:
        identity.machine_id_from = "/etc/machine-id";
        break;
      case sys::MachineId::Source::state_file:
        identity.machine_id_from = settings.state_dir;
        break;
      case sys::MachineId::Source::host_name:
        identity.machine_id_from = "the host name";
        break;
    }
  }
  identity.host = sys::host_id(identity.machine_id);
  identity.name = settings.name.empty() ? sys::host_name() : settings.name;
  LoadedState loaded = read_state(settings.state_dir);
  if (!loaded.lost.empty()) log_warning(loaded.lost);
  identity.state = loaded.state;
  identity.clock_floor = WallTime{std::chrono::seconds{loaded.state.written_s}};
  return identity;
}

void share_machine_id(DaemonIdentity& identity) {
  if (!identity.settings.machine_id.empty()) return;
  const auto networks = networks_of(identity.settings);
  if (!networks) return;
  for (const sys::NetworkOptions& network : *networks)
    for (const sys::Address& address : network.bind) identity.machine_id += ' ' + address.text();
  identity.machine_id_from += " and its addresses";
  identity.host = sys::host_id(identity.machine_id);
}

WallTime first_time(const DaemonIdentity& identity, WallTime clock) {
  if (identity.settings.clock != config::ClockKind::system) return clock;
  return std::max(clock, identity.clock_floor);
}

void new_incarnation(DaemonIdentity& identity) {
  const std::int64_t now = system_seconds();
  identity.incarnation = next_incarnation(identity.state, now, sys::kernel_random());
  // A clock that was reset at boot does not turn the time of the last write back.
  identity.state.written_s = std::max(identity.state.written_s, now);
  identity.nonce = wire::Nonce{sys::kernel_random()};
  identity.state.incarnation = std::to_underlying(identity.incarnation);
}

Result<void> begin_incarnation(DaemonIdentity& identity) {
  new_incarnation(identity);
  auto written = write_state(identity.settings.state_dir, identity.state);
  if (written) return written;
  identity.incarnation = random_incarnation(sys::kernel_random());
  return std::unexpected(fmt::format(
      "{}; make the state directory writable and restart tempod: until then its incarnations have "
      "no order, and there are no locks",
      written.error()));
}

wire::Codec make_codec(const DaemonIdentity& identity) {
  return wire::Codec({.self = identity.host,
                      .incarnation = identity.incarnation,
                      .nonce = identity.nonce,
                      .name = wire::Name(identity.name),
                      .cluster = identity.settings.cluster,
                      .keys = identity.keys,
                      .secret = auth::new_key(),
                      .exchange_interval = identity.settings.timing.adjtime});
}

Result<std::vector<sys::NetworkOptions>> networks_of(const config::Settings& settings) {
  std::vector<sys::NetworkOptions> networks;
  const auto addresses = [&](const std::vector<std::string>& texts,
                             std::vector<sys::Address>& into) -> Result<void> {
    for (const std::string& text : texts) {
      TRY(address, sys::Address::parse(text, settings.port));
      into.push_back(address);
    }
    return {};
  };
  if (!settings.bind.empty() && settings.peers.empty()) {
    sys::NetworkOptions network{.label = settings.bind.front(), .port = settings.port};
    if (auto read = addresses(settings.bind, network.bind); !read)
      return std::unexpected(read.error());
    if (!settings.broadcast.empty()) {
      TRY(everyone, sys::Address::parse(settings.broadcast, settings.port));
      network.bind.push_back(everyone);
      network.everyone.push_back(everyone);
    }
    networks.push_back(std::move(network));
    return networks;
  }
  if (!settings.peers.empty()) {
    sys::NetworkOptions network{.label = "peers", .port = settings.port};
    if (settings.bind.empty()) {
      TRY(any, sys::Address::parse("0.0.0.0", settings.port));
      network.bind.push_back(any);
    } else if (auto read = addresses(settings.bind, network.bind); !read) {
      return std::unexpected(read.error());
    }
    if (auto read = addresses(settings.peers, network.everyone); !read)
      return std::unexpected(read.error());
    networks.push_back(std::move(network));
    return networks;
  }
  TRY(found, sys::find_networks(settings.interfaces, settings.port, settings.ipv6));
  networks = std::move(found);
  if (networks.size() > node::kMaxNetworks) networks.resize(node::kMaxNetworks);
  for (sys::NetworkOptions& network : networks) network.card_stamps = settings.hardware_stamps;
  return networks;
}

}  // namespace tempo::daemon
