#include "live/daemon/life.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/core.h>
#include <sys/stat.h>
#include <time.h>

#include "live/sys/host.h"
#include "live/sys/whole_file.h"

namespace tempo::daemon {

Result<std::string> read_key_file(const config::Settings& settings) {
  if (settings.key_file.empty()) return "";
  struct stat status{};
  if (::stat(settings.key_file.c_str(), &status) != 0) {
    if (!settings.key_file_given && errno == ENOENT) return "";
    return std::unexpected(
        fmt::format("cannot read the key file {}: {}; 'tempo keygen {}' makes one",
                    settings.key_file, std::strerror(errno), settings.key_file));
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return std::unexpected(
        fmt::format("the key file {} can be read by others; 'chmod 600 {}' mends it",
                    settings.key_file, settings.key_file));
  constexpr std::size_t kMostBytes = 4096;
  return sys::read_file(settings.key_file, kMostBytes);
}

Result<auth::Keyring> parse_key_file(const config::Settings& settings, std::string_view text) {
  if (text.empty()) return auth::Keyring{};
  Result<std::vector<auth::Key>> keys = auth::parse_keys(text);
  if (!keys) return std::unexpected(fmt::format("{}: {}", settings.key_file, keys.error()));
  return auth::Keyring(std::move(*keys));
}

Result<Life> prepare_life(const config::Settings& settings) {
  TRY(text, read_key_file(settings));
  TRY(keys, parse_key_file(settings, text));
  Life life;
  life.settings = settings;
  life.keys = std::move(keys);
  life.machine_id = settings.machine_id;
  life.machine_id_from = "the settings";
  if (life.machine_id.empty()) {
    const sys::MachineId machine = sys::machine_id({.state_directory = settings.state_dir});
    life.machine_id = machine.text;
    switch (machine.source) {
      case sys::MachineId::Source::machine_id:
        life.machine_id_from = "/etc/machine-id";
        break;
      case sys::MachineId::Source::state_file:
        life.machine_id_from = settings.state_dir;
        break;
      case sys::MachineId::Source::host_name:
        life.machine_id_from = "the host's name";
        break;
    }
  }
  life.host = sys::host_id(life.machine_id);
  life.name = settings.name.empty() ? sys::host_name() : settings.name;
  life.state = read_state(settings.state_dir);
  return life;
}

void be_one_of_many(Life& life) {
  if (!life.settings.machine_id.empty()) return;
  const auto networks = networks_of(life.settings);
  if (!networks) return;
  for (const sys::NetworkOptions& network : *networks)
    for (const sys::Address& address : network.bind) life.machine_id += ' ' + address.text();
  life.machine_id_from += " and its addresses";
  life.host = sys::host_id(life.machine_id);
}

void be_born(Life& life) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  life.incarnation = next_life(life.state, now.tv_sec);
  life.state.lives = std::to_underlying(life.incarnation);
}

node::Mailroom make_mailroom(const Life& life) {
  return node::Mailroom({.self = life.host,
                         .incarnation = life.incarnation,
                         .name = wire::Name(life.name),
                         .cluster = life.settings.cluster,
                         .keys = life.keys});
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
  networks = sys::find_networks(settings.interfaces, settings.port, settings.ipv6);
  if (networks.size() > node::kMostNetworks) networks.resize(node::kMostNetworks);
  for (sys::NetworkOptions& network : networks) network.card_stamps = settings.hardware_stamps;
  return networks;
}

}  // namespace tempo::daemon
