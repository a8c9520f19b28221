#include "platform/interfaces.h"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "platform/descriptor.h"
#include "platform/network.h"

namespace tempo::sys {
namespace {

template <class T>
T copy_as(const sockaddr* from) {
  T value{};
  std::memcpy(&value, from, sizeof value);
  return value;
}

// The last address of the subnet. It is computed, because addresses that were configured by hand
// often lack the broadcast address, although the kernel accepts it.
Address broadcast_of(const ifaddrs& entry) {
  if (entry.ifa_netmask == nullptr || (entry.ifa_flags & IFF_BROADCAST) == 0) return {};
  auto own = copy_as<sockaddr_in>(entry.ifa_addr);
  const std::uint32_t mask = ntohl(copy_as<sockaddr_in>(entry.ifa_netmask).sin_addr.s_addr);
  if (mask >= 0xfffffffe) return {};  // a single address, or a point-to-point pair
  own.sin_addr.s_addr |= htonl(~mask);
  own.sin_port = 0;
  return {reinterpret_cast<const sockaddr*>(&own), sizeof own};
}

NetworkOptions broadcast_network(const InterfaceAddress& found, std::uint16_t port) {
  return {.label = found.name,
          .bind = {found.address.with_port(port), found.broadcast.with_port(port)},
          .everyone = {found.broadcast.with_port(port)},
          .port = port,
          .multicast = false,
          .interface = found.name};
}

NetworkOptions multicast_network(const InterfaceAddress& found, std::uint16_t port) {
  const auto group = Address::parse(fmt::format("{}%{}", kGroup, found.address.scope()), port);
  return {.label = found.name,
          .bind = {found.address.with_port(port), *group},
          .everyone = {*group},
          .port = port,
          .multicast = true,
          .interface = found.name};
}

}  // namespace

Result<std::vector<InterfaceAddress>> interface_addresses() {
  std::vector<InterfaceAddress> all;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return failure("cannot list the interfaces");
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    InterfaceAddress one;
    one.name = entry->ifa_name;
    one.up = (entry->ifa_flags & IFF_UP) != 0;
    one.loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
    one.multicast = (entry->ifa_flags & IFF_MULTICAST) != 0;
    if (family == AF_INET) {
      one.address = {entry->ifa_addr, sizeof(sockaddr_in)};
      one.broadcast = broadcast_of(*entry);
    } else {
      one.address = {entry->ifa_addr, sizeof(sockaddr_in6)};
      const auto v6 = copy_as<sockaddr_in6>(entry->ifa_addr);
      one.link_local = IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr);
    }
    all.push_back(std::move(one));
  }
  freeifaddrs(list);
  return all;
}

// With SO_DONTROUTE the kernel connects only to addresses of its own networks.
bool on_link(const Address& address) {
  const Descriptor socket(::socket(address.family(), SOCK_DGRAM, 0));
  const int on = 1;
  return !socket.none() &&
         setsockopt(socket.number(), SOL_SOCKET, SO_DONTROUTE, &on, sizeof on) == 0 &&
         ::connect(socket.number(), address.with_port(1).raw(), address.size()) == 0;
}

Result<std::vector<NetworkOptions>> find_networks(std::span<const std::string> only,
                                                  std::uint16_t port, bool ipv6) {
  std::vector<NetworkOptions> networks;
  TRY(all, interface_addresses());
  const auto usable = [&](const InterfaceAddress& one) {
    return one.up && !one.loopback &&
           (only.empty() || std::ranges::find(only, one.name) != only.end());
  };
  const auto has = [&](const std::string& label) {
    return std::ranges::find(networks, label, &NetworkOptions::label) != networks.end();
  };
  if (ipv6) {
    for (const InterfaceAddress& one : all) {
      if (usable(one) && one.multicast && one.link_local && !has(one.name))
        networks.push_back(multicast_network(one, port));
    }
  }
  const std::vector<NetworkOptions> by_group = networks;
  for (const InterfaceAddress& one : all) {
    if (!usable(one) || one.broadcast.none()) continue;
    if (std::ranges::find(by_group, one.name, &NetworkOptions::label) != by_group.end()) continue;
    NetworkOptions network = broadcast_network(one, port);
    const bool known = std::ranges::any_of(networks, [&](const NetworkOptions& other) {
      return other.interface == one.name && other.everyone == network.everyone;
    });
    if (known) continue;  // a second address in the same subnet
    if (has(one.name)) network.label = fmt::format("{}/{}", one.name, one.address.text());
    networks.push_back(std::move(network));
  }
  return networks;
}

}  // namespace tempo::sys
