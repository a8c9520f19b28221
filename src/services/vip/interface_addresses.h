// Addresses of interfaces that this program adds and removes, and the state of the interfaces.
//
// An added address lives for one second, so that the kernel removes it by itself when nobody renews
// it. It is marked with kProtocol, so that a later process finds it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "services/vip/address_prefix.h"
#include "services/vip/neighbour_frame.h"
#include "services/vip/netlink.h"

namespace tempo::vip {

class InterfaceAddresses {
 public:
  static constexpr std::uint8_t kProtocol = 0x76;  // IFA_PROTO of our addresses

  static Result<InterfaceAddresses> open();

  // The interface by this name; unset: there is none.
  struct Interface {
    int index = 0;
    bool up = false;  // administratively up, and the link is up
    Mac mac{};
  };
  std::optional<Interface> find(const std::string& name);
  std::vector<Mac> own_macs();

  // Adds the address, or renews its second.
  Result<void> put(int interface, const AddressPrefix& address);
  // An address that is not there is removed.
  Result<void> remove(int interface, const AddressPrefix& address);
  // Whether this machine has the address and no tempo-vip added it: the interface's index.
  std::optional<int> foreign(const AddressPrefix& address);
  // Removes every address with our mark; returns how many.
  Result<int> remove_marked();

  // Readable when an interface has changed. `drain` forgets the changes.
  int watch() const { return watch_.descriptor(); }
  void drain();

 private:
  InterfaceAddresses(NetlinkSocket route, NetlinkSocket watch)
      : route_(std::move(route)), watch_(std::move(watch)) {}
  int change(std::uint16_t type, std::uint16_t flags, int interface, const AddressPrefix& address);
  struct Found {
    int interface = 0;
    AddressPrefix address{};
    std::uint8_t protocol = 0;
  };
  std::vector<Found> all();
  void each_link(const std::function<void(const std::string&, const Interface&)>& each);

  NetlinkSocket route_;
  NetlinkSocket watch_;
};

}  // namespace tempo::vip
