#include "services/vip/address_prefix.h"

#include <algorithm>

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>

#include "base/number_text.h"

namespace tempo::vip {
namespace {

// Empty: an interface may have this address.
std::string_view defect_of(const AddressPrefix& address) {
  const auto first = std::to_integer<unsigned>(address.bytes[0]);
  const auto all_zero =
      std::ranges::all_of(address.address(), [](std::byte byte) { return byte == std::byte{0}; });
  if (all_zero) return "is the unspecified address";
  if (address.family == AF_INET) {
    if (first == 0) return "is in 0.0.0.0/8, which is reserved";
    if (first == 127) return "is a loopback address";
    if (first >= 240) return "is in 240.0.0.0/4, which is reserved";
    if (first >= 224) return "is a multicast address";
    return "";
  }
  if (first == 0xff) return "is a multicast address";
  if (address.text() == "::1") return "is the loopback address";
  if (address.text().starts_with("::ffff:")) return "is an IPv4 address in IPv6 form";
  return "";
}

}  // namespace

Result<AddressPrefix> AddressPrefix::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos)
    return std::unexpected(fmt::format(
        "'{}' has no prefix length; write, for example, 192.0.2.10/24 or 2001:db8::10/64", text));
  AddressPrefix address;
  const std::string name(text.substr(0, slash));
  address.family = name.find(':') == std::string::npos ? AF_INET : AF_INET6;
  if (inet_pton(address.family, name.c_str(), address.bytes.data()) != 1)
    return std::unexpected(
        fmt::format("'{}' is not an IPv4 or IPv6 address; host names are not resolved", name));
  const unsigned most = address.family == AF_INET ? 32 : 128;
  const unsigned prefix = parse_number<unsigned>(text.substr(slash + 1)).value_or(0);
  if (prefix == 0 || prefix > most)
    return std::unexpected(
        fmt::format("the prefix length of '{}' must be a whole number from 1 to "
                    "{}",
                    text, most));
  address.prefix = static_cast<std::uint8_t>(prefix);
  if (const std::string_view defect = defect_of(address); !defect.empty())
    return std::unexpected(fmt::format("{} {}; use an address of a network", name, defect));
  return address;
}

std::span<const std::byte> AddressPrefix::address() const {
  return std::span{bytes}.first(family == AF_INET ? 4 : 16);
}

std::string AddressPrefix::text() const {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  inet_ntop(family, bytes.data(), buffer.data(), buffer.size());
  return buffer.data();
}

std::string AddressPrefix::text_with_prefix() const { return fmt::format("{}/{}", text(), prefix); }

}  // namespace tempo::vip
