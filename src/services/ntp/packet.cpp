#include "services/ntp/packet.h"

#include <algorithm>
#include <limits>

namespace tempo::ntp {
namespace {

constexpr std::int64_t kFrom1900To1970 = 2'208'988'800;  // seconds: 70 years with 17 leap days
constexpr std::int64_t kSecond = 1'000'000'000;

class Writer {
 public:
  explicit Writer(PacketBytes& bytes) : bytes_(&bytes) {}
  template <class T>
  void put(T value) {
    for (std::size_t i = sizeof(T); i-- > 0;)
      (*bytes_)[at_++] =
          static_cast<std::byte>((static_cast<std::uint64_t>(value) >> (8 * i)) & 0xff);
  }

 private:
  PacketBytes* bytes_;
  std::size_t at_ = 0;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  T get() {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      value = value << 8 | std::to_integer<std::uint64_t>(bytes_[at_++]);
    return static_cast<T>(value);
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

}  // namespace

Timestamp timestamp_of(Nanos since_1970) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since_1970);
  const auto nanos = static_cast<std::uint64_t>((since_1970 - seconds).count());
  const auto era_seconds = static_cast<std::uint32_t>(seconds.count() + kFrom1900To1970);
  return std::uint64_t{era_seconds} << 32 | (nanos << 32) / kSecond;
}

Nanos time_of(Timestamp timestamp, Nanos near) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(near).count() + kFrom1900To1970;
  const auto ahead = static_cast<std::int32_t>(static_cast<std::uint32_t>(timestamp >> 32) -
                                               static_cast<std::uint32_t>(seconds));
  const std::uint64_t fraction = timestamp & 0xffff'ffff;
  const auto nanos = static_cast<std::int64_t>((fraction * kSecond + 0x8000'0000) >> 32);
  return std::chrono::seconds{seconds - kFrom1900To1970 + ahead} + Nanos{nanos};
}

Short short_of(Nanos span) {
  constexpr Nanos kLargest = std::chrono::seconds{0xffff};
  if (span > kLargest) return std::numeric_limits<Short>::max();
  const auto nanos = static_cast<std::uint64_t>(std::max(span, Nanos{0}).count());
  return static_cast<Short>(((nanos << 16) + kSecond - 1) / kSecond);
}

Nanos span_of(Short value) {
  return Nanos{static_cast<std::int64_t>((std::uint64_t{value} * kSecond + 0xffff) >> 16)};
}

PacketBytes encode(const Packet& packet) {
  PacketBytes bytes{};
  Writer out(bytes);
  out.put(static_cast<std::uint8_t>((packet.leap & 3) << 6 | (packet.version & 7) << 3 |
                                    (packet.mode & 7)));
  out.put(packet.stratum);
  out.put(packet.poll);
  out.put(packet.precision);
  out.put(packet.root_delay);
  out.put(packet.root_dispersion);
  out.put(packet.reference_id);
  out.put(packet.reference);
  out.put(packet.origin);
  out.put(packet.receive);
  out.put(packet.transmit);
  return bytes;
}

std::optional<Packet> decode(std::span<const std::byte> bytes) {
  if (bytes.size() < kPacketBytes) return std::nullopt;
  Reader in(bytes);
  Packet packet;
  const auto first = in.get<std::uint8_t>();
  packet.leap = first >> 6;
  packet.version = first >> 3 & 7;
  packet.mode = first & 7;
  packet.stratum = in.get<std::uint8_t>();
  packet.poll = in.get<std::int8_t>();
  packet.precision = in.get<std::int8_t>();
  packet.root_delay = in.get<Short>();
  packet.root_dispersion = in.get<Short>();
  packet.reference_id = in.get<std::uint32_t>();
  packet.reference = in.get<Timestamp>();
  packet.origin = in.get<Timestamp>();
  packet.receive = in.get<Timestamp>();
  packet.transmit = in.get<Timestamp>();
  return packet;
}

}  // namespace tempo::ntp
