#include "services/vip/neighbour_frame.h"

#include <algorithm>
#include <cstdint>

#include <fmt/core.h>
#include <linux/if_ether.h>
#include <netinet/in.h>

namespace tempo::vip {
namespace {

constexpr Mac kEverybody{std::byte{0xff}, std::byte{0xff}, std::byte{0xff},
                         std::byte{0xff}, std::byte{0xff}, std::byte{0xff}};
constexpr Mac kNobody{};
constexpr std::array<std::byte, 4> kUnspecified{};
constexpr std::size_t kArpSize = ETH_HLEN + 28;
constexpr std::size_t kIp6Header = 40;
constexpr std::size_t kNeighbourSize = ETH_HLEN + kIp6Header + 32;  // with one option
constexpr unsigned kSolicitation = 135, kAdvertisement = 136;
constexpr unsigned kSourceMac = 1, kTargetMac = 2;  // options of neighbour discovery
constexpr unsigned kOverride = 0x20;
constexpr unsigned kHops = 255;  // neighbours accept no other value

class Writer {
 public:
  Writer& put(unsigned byte) {
    bytes.push_back(static_cast<std::byte>(byte));
    return *this;
  }
  Writer& put16(unsigned value) { return put(value >> 8 & 0xff).put(value & 0xff); }
  Writer& put(std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return *this;
  }
  std::vector<std::byte> bytes;
};

std::vector<std::byte> arp_request(std::span<const std::byte> sender,
                                   std::span<const std::byte> target, const Mac& mac) {
  Writer frame;
  frame.put(kEverybody).put(mac).put16(ETH_P_ARP);
  frame.put16(1).put16(ETH_P_IP).put(6).put(4).put16(1);
  frame.put(mac).put(sender).put(kNobody).put(target);
  return std::move(frame.bytes);
}

// The sum of the Internet checksum over a pseudo header and the message.
unsigned checksum(std::span<const std::byte> source, std::span<const std::byte> target,
                  std::span<const std::byte> message) {
  std::uint32_t sum = static_cast<std::uint32_t>(message.size()) + IPPROTO_ICMPV6;
  const auto add = [&sum](std::span<const std::byte> bytes) {
    for (std::size_t i = 0; i + 1 < bytes.size(); i += 2)
      sum += std::to_integer<std::uint32_t>(bytes[i]) << 8 |
             std::to_integer<std::uint32_t>(bytes[i + 1]);
  };
  add(source);
  add(target);
  add(message);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return ~sum & 0xffff;
}

struct Neighbour {
  unsigned type = 0;
  unsigned flags = 0;
  std::array<std::byte, 16> source{};
  std::array<std::byte, 16> to{};  // a multicast group
  std::span<const std::byte> target;
  unsigned option = 0;  // 0: none
};

std::vector<std::byte> neighbour_frame(const Neighbour& neighbour, const Mac& mac) {
  Writer message;
  message.put(neighbour.type).put(0).put16(0).put(neighbour.flags).put(0).put16(0);
  message.put(neighbour.target);
  if (neighbour.option != 0) message.put(neighbour.option).put(1).put(mac);
  const unsigned sum = checksum(neighbour.source, neighbour.to, message.bytes);
  message.bytes[2] = static_cast<std::byte>(sum >> 8);
  message.bytes[3] = static_cast<std::byte>(sum & 0xff);
  Writer frame;
  frame.put(0x33).put(0x33).put(std::span{neighbour.to}.last(4));
  frame.put(mac).put16(ETH_P_IPV6);
  frame.put(0x60).put(0).put16(0).put16(static_cast<unsigned>(message.bytes.size()));
  frame.put(IPPROTO_ICMPV6).put(kHops).put(neighbour.source).put(neighbour.to);
  frame.put(message.bytes);
  return std::move(frame.bytes);
}

std::array<std::byte, 16> all_nodes() {
  std::array<std::byte, 16> group{};
  group[0] = std::byte{0xff};
  group[1] = std::byte{0x02};
  group[15] = std::byte{0x01};
  return group;
}

std::array<std::byte, 16> solicited_node(const AddressPrefix& address) {
  std::array<std::byte, 16> group = all_nodes();
  group[11] = std::byte{0x01};
  group[12] = std::byte{0xff};
  std::copy(address.bytes.end() - 3, address.bytes.end(), group.end() - 3);
  return group;
}

unsigned word_at(std::span<const std::byte> bytes, std::size_t place) {
  return std::to_integer<unsigned>(bytes[place]) << 8 | std::to_integer<unsigned>(bytes[place + 1]);
}

Mac mac_at(std::span<const std::byte> bytes, std::size_t place) {
  Mac mac{};
  std::ranges::copy(bytes.subspan(place, mac.size()), mac.begin());
  return mac;
}

std::optional<Claim> read_arp(std::span<const std::byte> frame) {
  const auto arp = frame.subspan(ETH_HLEN);
  const bool for_ip =
      word_at(arp, 0) == 1 && word_at(arp, 2) == ETH_P_IP && word_at(arp, 4) == 0x0604;
  if (!for_ip) return std::nullopt;
  Claim claim{.mac = mac_at(arp, 8)};
  claim.address.family = AF_INET;
  std::ranges::copy(arp.subspan(14, 4), claim.address.bytes.begin());
  const bool probes = std::ranges::all_of(claim.address.address(),
                                          [](std::byte byte) { return byte == std::byte{0}; });
  if (probes) return std::nullopt;
  return claim;
}

std::optional<Claim> read_advertisement(std::span<const std::byte> frame) {
  const auto ip = frame.subspan(ETH_HLEN);
  if (std::to_integer<unsigned>(ip[6]) != IPPROTO_ICMPV6) return std::nullopt;
  const auto icmp = ip.subspan(kIp6Header);
  if (std::to_integer<unsigned>(icmp[0]) != kAdvertisement) return std::nullopt;
  Claim claim{.mac = mac_at(frame, 6)};
  claim.address.family = AF_INET6;
  std::ranges::copy(icmp.subspan(8, 16), claim.address.bytes.begin());
  const bool has_mac = icmp.size() >= 32 && std::to_integer<unsigned>(icmp[24]) == kTargetMac &&
                       std::to_integer<unsigned>(icmp[25]) == 1;
  if (has_mac) claim.mac = mac_at(icmp, 26);
  return claim;
}

}  // namespace

std::string mac_text(const Mac& mac) {
  std::string text;
  for (const std::byte byte : mac)
    text += fmt::format("{}{:02x}", text.empty() ? "" : ":", std::to_integer<unsigned>(byte));
  return text;
}

std::vector<std::byte> announcement(const AddressPrefix& address, const Mac& mac) {
  if (address.family == AF_INET) return arp_request(address.address(), address.address(), mac);
  return neighbour_frame({.type = kAdvertisement,
                          .flags = kOverride,
                          .source = address.bytes,
                          .to = all_nodes(),
                          .target = address.address(),
                          .option = kTargetMac},
                         mac);
}

std::vector<std::byte> probe(const AddressPrefix& address, const Mac& mac) {
  if (address.family == AF_INET) return arp_request(kUnspecified, address.address(), mac);
  // A solicitation from the unspecified address has no option.
  return neighbour_frame({.type = kSolicitation,
                          .flags = 0,
                          .source = {},
                          .to = solicited_node(address),
                          .target = address.address(),
                          .option = 0},
                         mac);
}

std::optional<Claim> read_claim(std::span<const std::byte> frame) {
  if (frame.size() < ETH_HLEN) return std::nullopt;
  const unsigned type = word_at(frame, 12);
  if (type == ETH_P_ARP && frame.size() >= kArpSize) return read_arp(frame);
  if (type == ETH_P_IPV6 && frame.size() >= kNeighbourSize - 8) return read_advertisement(frame);
  return std::nullopt;
}

}  // namespace tempo::vip
