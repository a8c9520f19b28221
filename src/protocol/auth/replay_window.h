// Replay window: the datagram numbers received from one incarnation of one sender.
//
// It stores the highest number and a bitmap of the kWidth newest numbers. Older numbers count as
// received.
#pragma once

#include <array>
#include <cstdint>

namespace tempo::auth {

class ReplayWindow {
 public:
  static constexpr std::uint64_t kWidth = 256;

  // Returns true if this number is new, and records it. Numbers count from 1; 0 and numbers below
  // the window are never new.
  bool fresh(std::uint64_t number);

 private:
  std::uint64_t highest_ = 0;  // highest number received; 0: none
  std::array<std::uint64_t, kWidth / 64>
      seen_{};  // bit n % kWidth: n, of the newest kWidth numbers
};

}  // namespace tempo::auth
