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
  std::uint64_t at = 0;      // time in the unit of the capture; dumpcap: nanoseconds since 1970
  std::uint32_t source = 0;  // IPv4 addresses
  std::uint32_t target = 0;
  std::size_t source_port = 0;
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
      auto one = read_frame(block.subspan(kPacketHead, captured), port);
      if (!one) continue;
      one->frame = frame;
      one->at = std::uint64_t{little(block, 12)} << 32U | little(block, 16);
      found.push_back(*one);
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

  static std::uint32_t big32(std::span<const std::byte> bytes, std::size_t at) {
    return static_cast<std::uint32_t>(big16(bytes, at) << 16U | big16(bytes, at + 2));
  }

  // Payload, addresses and port.
  static std::optional<Captured> read_frame(std::span<const std::byte> ethernet,
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
    return Captured{.payload = udp.subspan(kUdp, length - kUdp),
                    .source = big32(ip, 12),
                    .target = big32(ip, 16),
                    .source_port = big16(udp, 0)};
  }

  std::span<const std::byte> file_;
};

}  // namespace tempo::wire
