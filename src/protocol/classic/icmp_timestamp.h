// ICMP timestamp messages (RFC 792): parses and writes them byte for byte.
//
// A raw socket delivers IPv4 packets with their header; `parse` takes such a packet and refuses
// everything but a whole, correct timestamp request or reply. Some daemons of 4.3BSD send bytes
// after the timestamps; they are ignored, but the checksum covers them. `write` leaves the header
// to the kernel. Nothing allocates.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "protocol/classic/classic_types.h"

namespace tempo::classic {

inline constexpr std::size_t kIcmpTimestampBytes = 20;

struct IcmpTimestamp {
  bool reply = false;
  Timestamps stamps{};

  bool operator==(const IcmpTimestamp&) const = default;
};

// `packet` begins with an IPv4 header. Nothing: another message, too short, or a wrong checksum.
std::optional<IcmpTimestamp> parse_icmp(std::span<const std::byte> packet);

// Milliseconds since midnight UT.
std::uint32_t milliseconds_of_day(WallTime time);
// Difference of two such readings: from half a day before to half a day after.
Nanos day_difference(std::uint32_t later, std::uint32_t earlier);

std::array<std::byte, kIcmpTimestampBytes> write_icmp(const IcmpTimestamp& message);

}  // namespace tempo::classic
