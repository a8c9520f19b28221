// Sends announcements and probes, and receives the claims of other machines.
//
// Its packet sockets are opened once, for all interfaces, before the process gives up the right to
// open more.
#pragma once

#include <array>
#include <functional>
#include <span>

#include "base/result.h"
#include "platform/descriptor.h"
#include "services/vip/neighbour_frame.h"

namespace tempo::vip {

class NeighbourSocket {
 public:
  static constexpr int kMaxAtOnce = 64;  // frames of each socket between two looks at the others

  static Result<NeighbourSocket> open();

  std::array<int, 2> descriptors() const { return {arp_.number(), neighbour_.number()}; }
  // A frame that cannot be sent is lost, like one that the network loses.
  void send(int interface, const AddressPrefix& about, std::span<const std::byte> frame) const;
  void receive(const std::function<void(int interface, const Claim&)>& each) const;

 private:
  sys::Descriptor arp_, neighbour_;
};

}  // namespace tempo::vip
