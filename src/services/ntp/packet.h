// NTP packets: the 48 bytes of the header (RFC 5905, section 7.3).
//
// tempo-ntp neither reads nor writes extension fields and authenticators: bytes after the header
// are ignored.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/units.h"

namespace tempo::ntp {

inline constexpr std::size_t kPacketBytes = 48;
inline constexpr std::uint16_t kPort = 123;

enum class Mode : std::uint8_t { client = 3, server = 4 };

// Seconds since 1900 in the high 32 bits, modulo 2^32, and a fraction in the low ones. Zero:
// unknown.
using Timestamp = std::uint64_t;

// The timestamp of a time since 1970, in any era.
Timestamp timestamp_of(Nanos since_1970);
// The time closest to `near` that has this timestamp: eras last 136 years.
Nanos time_of(Timestamp timestamp, Nanos near);

// 16 bits of seconds, 16 bits of fraction. Rounds up, and a span beyond 18 hours down to the
// largest value.
using Short = std::uint32_t;
Short short_of(Nanos span);
Nanos span_of(Short value);

struct Packet {
  std::uint8_t leap = 0;
  std::uint8_t version = 4;
  std::uint8_t mode = 0;
  std::uint8_t stratum = 0;
  std::int8_t poll = 0;       // log2 of seconds
  std::int8_t precision = 0;  // log2 of seconds
  Short root_delay = 0;
  Short root_dispersion = 0;
  std::uint32_t reference_id = 0;
  Timestamp reference = 0;
  Timestamp origin = 0;
  Timestamp receive = 0;
  Timestamp transmit = 0;

  bool operator==(const Packet&) const = default;
};

using PacketBytes = std::array<std::byte, kPacketBytes>;
PacketBytes encode(const Packet& packet);
std::optional<Packet> decode(std::span<const std::byte> bytes);  // nullopt: too short

}  // namespace tempo::ntp
