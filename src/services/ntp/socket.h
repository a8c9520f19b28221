// The UDP socket of an NTP server: it answers from the address that was asked, with timestamps of
// the kernel.
//
// A filter in the kernel drops datagrams that are no requests of an NTP client, so that a flood of
// them costs no system call. No call blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "platform/address.h"
#include "platform/descriptor.h"
#include "services/ntp/packet.h"

namespace tempo::ntp {

class Socket {
 public:
  static constexpr std::size_t kMaxBytes = 1024;

  struct Arrival {
    std::span<const std::byte> bytes;  // valid until the next call
    sys::Address from;
    sys::Address asked;             // the address of this host, without a port
    unsigned interface = 0;         // index of the interface; 0: unknown
    std::optional<timespec> stamp;  // of the kernel, CLOCK_REALTIME
  };
  // An answer left this host.
  struct Departure {
    Packet answer;
    timespec stamp{};  // of the kernel, CLOCK_REALTIME
  };

  // `server`: only requests of clients arrive.
  static Result<Socket> open(const sys::Address& address, bool server);

  int descriptor() const { return descriptor_.number(); }
  std::optional<Arrival> receive();
  // Sends the answer to the sender of `to`. False: it could not be sent.
  bool answer(const Arrival& to, const PacketBytes& bytes, bool stamp) const;
  std::optional<Departure> departure();
  bool send(const sys::Address& to, const PacketBytes& bytes) const;

 private:
  explicit Socket(sys::Descriptor descriptor)
      : descriptor_(std::move(descriptor)), buffer_(kMaxBytes) {}

  sys::Descriptor descriptor_;
  std::vector<std::byte> buffer_;
};

}  // namespace tempo::ntp
