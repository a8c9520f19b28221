#include "services/vip/interface_addresses.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/core.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

namespace tempo::vip {
namespace {

constexpr std::uint32_t kLifetime = 1;  // seconds, the kernel's shortest
constexpr int kMaxChanges = 256;

template <class Head>
Head head_in(const nlmsghdr& message) {
  Head head{};
  if (message.nlmsg_len >= NLMSG_LENGTH(sizeof head))
    std::memcpy(&head, reinterpret_cast<const char*>(&message) + NLMSG_HDRLEN, sizeof head);
  return head;
}

}  // namespace

Result<InterfaceAddresses> InterfaceAddresses::open() {
  TRY(route, NetlinkSocket::open(NETLINK_ROUTE));
  TRY(watch, NetlinkSocket::open(NETLINK_ROUTE, RTMGRP_LINK));
  return InterfaceAddresses(std::move(route), std::move(watch));
}

void InterfaceAddresses::drain() {
  watch_.drain(kMaxChanges, [](const nlmsghdr&) {});
}

void InterfaceAddresses::each_link(
    const std::function<void(const std::string&, const Interface&)>& each) {
  MessageBuilder request;
  request.begin(RTM_GETLINK, NLM_F_DUMP, ifinfomsg{});
  (void)route_.list(request, [&](const nlmsghdr& message) {
    if (message.nlmsg_type != RTM_NEWLINK) return;
    const auto head = head_in<ifinfomsg>(message);
    Interface link{.index = head.ifi_index,
                   .up = (head.ifi_flags & IFF_UP) != 0 && (head.ifi_flags & IFF_LOWER_UP) != 0};
    std::string name;
    for_each_attribute(attributes_of(message, sizeof head),
                       [&](std::uint16_t type, std::span<const std::byte> value) {
                         if (type == IFLA_IFNAME)
                           name = reinterpret_cast<const char*>(value.data());
                         if (type == IFLA_ADDRESS && value.size() == link.mac.size())
                           std::ranges::copy(value, link.mac.begin());
                       });
    each(name, link);
  });
}

std::optional<InterfaceAddresses::Interface> InterfaceAddresses::find(const std::string& name) {
  std::optional<Interface> found;
  each_link([&](const std::string& each, const Interface& link) {
    if (each == name) found = link;
  });
  return found;
}

std::vector<Mac> InterfaceAddresses::own_macs() {
  std::vector<Mac> all;
  each_link([&](const std::string&, const Interface& link) {
    if (link.mac != Mac{}) all.push_back(link.mac);
  });
  return all;
}

int InterfaceAddresses::change(std::uint16_t type, std::uint16_t flags, int interface,
                               const AddressPrefix& address) {
  MessageBuilder message;
  message.begin(type, flags,
                ifaddrmsg{.ifa_family = static_cast<std::uint8_t>(address.family),
                          .ifa_prefixlen = address.prefix,
                          .ifa_flags = static_cast<std::uint8_t>(
                              address.family == AF_INET6 ? IFA_F_NODAD : 0),
                          .ifa_scope = RT_SCOPE_UNIVERSE,
                          .ifa_index = static_cast<std::uint32_t>(interface)});
  message.add(IFA_LOCAL, address.address());
  message.add(IFA_ADDRESS, address.address());
  if (type == RTM_NEWADDR) {
    // A preferred lifetime of 0 keeps the kernel from choosing it as the source of other traffic.
    message.add_value(
        IFA_CACHEINFO,
        ifa_cacheinfo{.ifa_prefered = 0, .ifa_valid = kLifetime, .cstamp = 0, .tstamp = 0});
    message.add_value(IFA_PROTO, kProtocol);
  }
  message.request_answer();
  return route_.send(message);
}

Result<void> InterfaceAddresses::put(int interface, const AddressPrefix& address) {
  const int error = change(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, interface, address);
  if (error == 0) return {};
  return sys::failure(fmt::format("add {}", address.text_with_prefix()), error);
}

Result<void> InterfaceAddresses::remove(int interface, const AddressPrefix& address) {
  const int error = change(RTM_DELADDR, 0, interface, address);
  if (error == 0 || error == EADDRNOTAVAIL || error == ENODEV) return {};
  return sys::failure(fmt::format("remove {}", address.text_with_prefix()), error);
}

std::vector<InterfaceAddresses::Found> InterfaceAddresses::all() {
  std::vector<Found> found;
  MessageBuilder request;
  request.begin(RTM_GETADDR, NLM_F_DUMP, ifaddrmsg{});
  (void)route_.list(request, [&](const nlmsghdr& message) {
    if (message.nlmsg_type != RTM_NEWADDR) return;
    const auto head = head_in<ifaddrmsg>(message);
    if (head.ifa_family != AF_INET && head.ifa_family != AF_INET6) return;
    Found one{.interface = static_cast<int>(head.ifa_index)};
    one.address.family = head.ifa_family;
    one.address.prefix = head.ifa_prefixlen;
    for_each_attribute(attributes_of(message, sizeof head), [&](std::uint16_t type,
                                                                std::span<const std::byte> value) {
      const bool local = type == IFA_LOCAL || (type == IFA_ADDRESS && head.ifa_family == AF_INET6);
      if (local && value.size() <= one.address.bytes.size())
        std::ranges::copy(value, one.address.bytes.begin());
      if (type == IFA_PROTO && !value.empty())
        one.protocol = std::to_integer<std::uint8_t>(value[0]);
    });
    found.push_back(one);
  });
  return found;
}

std::optional<int> InterfaceAddresses::foreign(const AddressPrefix& address) {
  for (const Found& one : all())
    if (one.protocol != kProtocol && one.address.family == address.family &&
        one.address.bytes == address.bytes)
      return one.interface;
  return std::nullopt;
}

Result<int> InterfaceAddresses::remove_marked() {
  int count = 0;
  for (const Found& one : all()) {
    if (one.protocol != kProtocol) continue;
    if (auto removed = remove(one.interface, one.address); !removed)
      return std::unexpected(removed.error());
    ++count;
  }
  return count;
}

}  // namespace tempo::vip
