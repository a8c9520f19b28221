// Raw socket for ICMP timestamps, which read the clock of another host (RFC 792).
//
// Needs CAP_NET_RAW when it is opened, not later. It receives every timestamp request and reply
// that this host receives, each with its IPv4 header; the caller parses them. The kernel answers
// requests as well, from its own clock. No call blocks.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "base/result.h"
#include "platform/address.h"
#include "platform/descriptor.h"

namespace tempo::sys {

class TimestampSocket {
 public:
  struct Received {
    std::span<const std::byte> packet;  // IPv4 header and message; valid until the next call
    Address from;                       // without a port
  };

  static Result<TimestampSocket> open();

  int descriptor() const { return descriptor_.number(); }
  std::optional<Received> receive();
  // A message that cannot be sent is lost.
  void send(const Address& to, std::span<const std::byte> message) const;

  static constexpr int kMaxAtOnce = 256;  // a caller reads no more between two checks of its timers

 private:
  explicit TimestampSocket(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

  Descriptor descriptor_;
  std::array<std::byte, 512> buffer_{};
};

}  // namespace tempo::sys
