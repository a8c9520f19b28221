#include "protocol/classic/icmp_timestamp.h"

#include "protocol/wire/bytes.h"

namespace tempo::classic {
namespace {

constexpr std::uint8_t kRequest = 13;
constexpr std::uint8_t kReply = 14;
constexpr std::uint8_t kIcmp = 1;  // protocol number in the IPv4 header
constexpr std::size_t kShortestHeader = 20;

// RFC 1071. A correct message with its checksum gives 0.
std::uint16_t checksum(std::span<const std::byte> bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    sum += std::to_integer<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8U : 0U);
  while (sum >> 16U != 0) sum = (sum & 0xffffU) + (sum >> 16U);
  return static_cast<std::uint16_t>(~sum & 0xffffU);
}

}  // namespace

std::optional<IcmpTimestamp> parse_icmp(std::span<const std::byte> packet) {
  if (packet.size() < kShortestHeader) return std::nullopt;
  const auto first = std::to_integer<std::size_t>(packet[0]);
  const std::size_t header = 4 * (first & 15U);
  if (first >> 4U != 4 || header < kShortestHeader ||
      std::to_integer<std::uint8_t>(packet[9]) != kIcmp ||
      packet.size() < header + kIcmpTimestampBytes)
    return std::nullopt;
  const auto message = packet.subspan(header);
  if (checksum(message) != 0) return std::nullopt;
  wire::Reader in(message);
  const auto type = in.take<std::uint8_t>();
  const auto code = in.take<std::uint8_t>();
  if ((type != kRequest && type != kReply) || code != 0) return std::nullopt;
  (void)in.take<std::uint16_t>();
  IcmpTimestamp parsed{.reply = type == kReply};
  parsed.stamps.id = in.take<std::uint16_t>();
  parsed.stamps.sequence = in.take<std::uint16_t>();
  parsed.stamps.originate = in.take<std::uint32_t>();
  parsed.stamps.receive = in.take<std::uint32_t>();
  parsed.stamps.transmit = in.take<std::uint32_t>();
  return parsed;
}

std::uint32_t milliseconds_of_day(WallTime time) {
  const std::int64_t ms =
      std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return static_cast<std::uint32_t>(((ms % kDayMs) + kDayMs) % kDayMs);
}

Nanos day_difference(std::uint32_t later, std::uint32_t earlier) {
  std::int64_t ms = (std::int64_t{later} - earlier) % kDayMs;
  if (ms > kDayMs / 2) ms -= kDayMs;
  if (ms < -kDayMs / 2) ms += kDayMs;
  return std::chrono::milliseconds(ms);
}

std::array<std::byte, kIcmpTimestampBytes> write_icmp(const IcmpTimestamp& message) {
  std::array<std::byte, kIcmpTimestampBytes> bytes{};
  const auto put = [&](std::uint16_t sum) {
    wire::Writer out(bytes);
    out.put(message.reply ? kReply : kRequest);
    out.put(std::uint8_t{0});
    out.put(sum);
    out.put(message.stamps.id);
    out.put(message.stamps.sequence);
    out.put(message.stamps.originate);
    out.put(message.stamps.receive);
    out.put(message.stamps.transmit);
  };
  put(0);
  put(checksum(bytes));
  return bytes;
}

}  // namespace tempo::classic
