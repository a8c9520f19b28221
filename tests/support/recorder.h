// An attacker at the interface of one host, who records its datagrams and sends them again from its
// address.
//
// It keeps whole frames, so that a replayed datagram has every byte of the recorded one. It waits
// for the same questions: after the n-th datagram of another host it sends what the host sent after
// the n-th one in the recording; or it sends the whole recording in an order of its choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"

namespace tempo::testbed {

class Recorder {
 public:
  Recorder(const std::string& space, const std::string& interface);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Keeps what has arrived and left since the last call, in its order.
  void record();
  std::size_t sent() const;  // recorded datagrams that the host has sent

  // Sends the recording again, for this time; returns the number of datagrams sent.
  std::size_t replay(Nanos time);

  enum class Order : std::uint8_t { recorded, reversed, newest };
  static constexpr int kOrders = 3;
  // Sends the recordings of several hosts again, spread over this time; newest: the last ones again
  // and again.
  static std::size_t replay_all(std::span<Recorder* const> recorders, Order order, Nanos time);

 private:
  struct Frame {
    bool sent = false;  // by the host; false: received
    std::vector<std::byte> bytes{};
  };
  bool receive(Frame& frame) const;
  bool send(const Frame& frame) const;

  int socket_;
  std::vector<Frame> frames_;  // bounded
};

}  // namespace tempo::testbed
