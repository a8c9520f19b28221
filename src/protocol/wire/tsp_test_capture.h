// Minimal pcapng reader for tests: the UDP payloads of one port in a capture of IPv4 on Ethernet.
//
// It reads the enhanced packet blocks that dumpcap writes on a little-endian machine, skips all
// other blocks, and checks every length against the size of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tempo::wire {

struct Captured {
  std::size_t frame = 0;  // number of the frame, from 1, as in tshark
  std::span<const std::byte> payload;
};

class Capture {
 public:
  // `file` must outlive the returned payloads.
  explicit Capture(std::span<const std::byte> file) : file_(file) {}

  std::vector<Captured> udp(std::uint16_t port) const {
    constexpr std::uint32_t kPacket = 6;
    constexpr std::size_t kBlockHead = 8;
    constexpr std::size_t kPacketHead = 28;
    std::vector<Captured> found;
    std::size_t frame = 0;
    for (std::size_t at = 0; file_.size() - at >= kBlockHead + 4;) {
      const std::uint32_t kind = little(file_, at);
      const std::size_t bytes = little(file_, at + 4);
      if (bytes < kBlockHead + 4 || bytes > file_.size() - at) break;
      const auto block = file_.subspan(at, bytes);
      at += bytes;
      if (kind != kPacket) continue;
      ++frame;
      if (block.size() < kPacketHead) continue;
      const std::size_t captured = little(block, 20);
      if (captured > block.size() - kPacketHead) continue;
      if (const auto payload = payload_of(block.subspan(kPacketHead, captured), port))
        found.push_back({.frame = frame, .payload = *payload});
    }
    return found;
  }

 private:
  static std::uint32_t little(std::span<const std::byte> bytes, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 4; i-- > 0;)
      value = value << 8U | std::to_integer<std::uint32_t>(bytes[at + i]);
    return value;
  }
  static std::size_t big16(std::span<const std::byte> bytes, std::size_t at) {
    return std::to_integer<std::size_t>(bytes[at]) << 8U |
           std::to_integer<std::size_t>(bytes[at + 1]);
  }

  static std::optional<std::span<const std::byte>> payload_of(std::span<const std::byte> ethernet,
                                                              std::uint16_t port) {
    constexpr std::size_t kEthernet = 14;
    constexpr std::size_t kUdp = 8;
    if (ethernet.size() < kEthernet + 20 || big16(ethernet, 12) != 0x0800) return std::nullopt;
    const auto ip = ethernet.subspan(kEthernet);
    const std::size_t head = 4 * std::to_integer<std::size_t>(ip[0] & std::byte{15});
    if (ip[9] != std::byte{17} || ip.size() < head + kUdp) return std::nullopt;
    const auto udp = ip.subspan(head);
    if (big16(udp, 0) != port && big16(udp, 2) != port) return std::nullopt;
    const std::size_t length = big16(udp, 4);
    if (length < kUdp || length > udp.size()) return std::nullopt;
    return udp.subspan(kUdp, length - kUdp);
  }

  std::span<const std::byte> file_;
};

}  // namespace tempo::wire
