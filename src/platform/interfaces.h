// The current interface addresses of the host, as values.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "platform/address.h"

namespace tempo::sys {

// One address of one interface.
struct InterfaceAddress {
  std::string name;
  bool up = false;  // administratively up; the link state is not checked
  bool loopback = false;
  bool multicast = false;  // multicast groups can be joined
  Address address;         // port 0
  Address broadcast;       // IPv4 only; none if the subnet has no broadcast address
  bool link_local = false;

  bool operator==(const InterfaceAddress&) const = default;
};

// In the order of the kernel. An error, e.g. that no descriptor is free, does not mean that there
// are no interfaces.
Result<std::vector<InterfaceAddress>> interface_addresses();

// Whether datagrams to that address leave this host without a router between.
bool on_link(const Address& address);

}  // namespace tempo::sys
