// The hosts of one network in classic mode: their addresses, and numbers in the order of their
// names.
//
// TSP has no ids of hosts. ClassicHost orders two masters by their numbers, so that both sides come
// to the same decision: a host whose name is lower than the own one gets a number below kOwn, any
// other one a number above. Among the others the order is kept as far as there is room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "platform/address.h"

namespace tempo::daemon {

class ClassicPeers {
 public:
  static constexpr NodeId kOwn{512};
  static constexpr std::uint32_t kLast = 1022;  // above it is ClassicHost's stranger
  static constexpr std::size_t kMax = 510;

  explicit ClassicPeers(std::string own_name) : own_name_(std::move(own_name)) {}

  // The number of the host at this address (its port does not matter). A host that is heard first
  // gets one. Unset: there is no room.
  std::optional<NodeId> heard(const sys::Address& address, std::string_view name);
  std::optional<NodeId> known(const sys::Address& address) const;
  const std::string* address_of(NodeId id) const;  // null: unknown

  std::size_t size() const { return by_number_.size(); }

 private:
  struct Peer {
    std::string name;
    std::string address;
  };
  std::optional<std::uint32_t> place(std::string_view name) const;

  std::string own_name_;
  std::map<std::uint32_t, Peer> by_number_;
  std::map<std::string, std::uint32_t> by_address_;
};

}  // namespace tempo::daemon
