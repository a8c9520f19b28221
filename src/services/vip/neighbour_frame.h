// Ethernet frames that tell neighbours where an address is, or ask whether somebody has it: ARP for
// IPv4, neighbour discovery for IPv6.
//
// Only bytes: no socket. `read_claim` takes bytes from the network and accepts any.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/vip/address_prefix.h"

namespace tempo::vip {

using Mac = std::array<std::byte, 6>;
std::string mac_text(const Mac& mac);  // "02:00:5e:00:53:01"

// Says to all neighbours that `mac` has the address: a gratuitous ARP request, or an unsolicited
// advertisement with the override flag.
std::vector<std::byte> announcement(const AddressPrefix& address, const Mac& mac);
// Asks whether anybody has the address, without claiming it (RFC 5227, RFC 4862).
std::vector<std::byte> probe(const AddressPrefix& address, const Mac& mac);

// A frame whose sender says that it has `address`.
struct Claim {
  AddressPrefix address{};  // prefix 0
  Mac mac{};
};
// Unset: the frame claims no address.
std::optional<Claim> read_claim(std::span<const std::byte> frame);

}  // namespace tempo::vip
