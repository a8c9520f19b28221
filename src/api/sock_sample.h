// A sample of time in the format of chrony's SOCK reference clock: 40 bytes, native byte order.
//
// gpsd, ntpd-rs and tempo-ntp send such datagrams to a unix socket; tempod receives them (key
// `utc.source`) and sends them to chronyd (key `doors.chrony`). The layout is that of
// refclock_sock.c on 64-bit machines:
//
//   0  timeval  reading of the system clock: seconds, microseconds, 64 bits each
//  16  double   offset: true time minus that reading, in seconds
//  24  int      pulse: the sample only marks the begin of a second
//  28  int      leap: 0 none, 1 a second will be inserted, 2 deleted, 3 the sender is
//  unsynchronized 32  int      padding 36  int      magic number
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/units.h"

namespace tempo::doors {

inline constexpr std::size_t kSockBytes = 40;

struct SockSample {
  Nanos at{0};        // reading of the system clock, since 1970
  double offset = 0;  // true time minus `at`, in seconds
  bool pulse = false;
  std::int32_t leap = 0;

  bool operator==(const SockSample&) const = default;
};

std::array<std::byte, kSockBytes> encode(const SockSample& sample);
// Empty: another length or magic number, or values that no clock has.
std::optional<SockSample> decode(std::span<const std::byte> bytes);

}  // namespace tempo::doors
