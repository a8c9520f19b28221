// An address with the length of its network prefix, as in "192.0.2.10/24" or "2001:db8::10/64".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tempo::vip {

struct AddressPrefix {
  int family = 0;                     // AF_INET or AF_INET6
  std::array<std::byte, 16> bytes{};  // in network order; IPv4 uses the first four
  std::uint8_t prefix = 0;            // bits of the network

  // Refuses addresses that no interface can have as its own: multicast, loopback, unspecified.
  static Result<AddressPrefix> parse(std::string_view text);

  std::span<const std::byte> address() const;  // 4 or 16 bytes
  std::string text() const;                    // without the prefix
  std::string text_with_prefix() const;
  bool operator==(const AddressPrefix&) const = default;
};

}  // namespace tempo::vip
