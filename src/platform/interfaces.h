// The host's interfaces as they are now, as values.
#pragma once

#include <string>
#include <vector>

#include "platform/address.h"

namespace tempo::sys {

// One address of one interface.
struct InterfaceAddress {
  std::string name;
  bool up = false;  // set up; whether a cable is plugged in is not asked
  bool loopback = false;
  bool multicast = false;  // groups can be joined
  Address address;         // port 0
  Address broadcast;       // of IPv4; none where the subnet has none
  bool link_local = false;

  bool operator==(const InterfaceAddress&) const = default;
};

// In the kernel's order; empty when the kernel does not say.
std::vector<InterfaceAddress> interface_addresses();

}  // namespace tempo::sys
