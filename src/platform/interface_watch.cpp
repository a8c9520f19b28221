#include "platform/interface_watch.h"

#include <array>
#include <cerrno>
#include <utility>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

namespace tempo::sys {

InterfaceWatch::InterfaceWatch() {
  // Open the socket first: a change between the two steps is then reported twice instead of never.
  if (auto made = plain_socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE)) {
    sockaddr_nl all{};
    all.nl_family = AF_NETLINK;
    all.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
    if (bind(made->number(), reinterpret_cast<const sockaddr*>(&all), sizeof all) == 0)
      route_ = *std::move(made);
  }
  known_ = interface_addresses().value_or(std::vector<InterfaceAddress>{});
}

std::optional<int> InterfaceWatch::descriptor() const {
  if (route_.none()) return std::nullopt;
  return route_.number();
}

bool InterfaceWatch::changed() {
  drain();
  auto now = interface_addresses();
  if (!now || *now == known_) return false;
  known_ = *std::move(now);
  return true;
}

// The contents of the messages do not matter, only their arrival. An overflow (ENOBUFS) counts too.
void InterfaceWatch::drain() {
  if (route_.none()) return;
  std::array<char, 8192> ignored{};
  constexpr int kMaxAtOnce = 256;
  for (int count = 0; count < kMaxAtOnce; ++count) {
    if (recv(route_.number(), ignored.data(), ignored.size(), MSG_TRUNC) < 0 && errno != ENOBUFS)
      return;
  }
}

}  // namespace tempo::sys
