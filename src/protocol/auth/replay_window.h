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

  // Whether `fresh` would return true.
  bool would_be_fresh(std::uint64_t number) const;

  // Moves the window up to this number, which does not count as received.
  void advance(std::uint64_t number);

  std::uint64_t highest() const { return highest_; }

 private:
  std::uint64_t highest_ = 0;  // end of the window; 0: it is empty
  std::array<std::uint64_t, kWidth / 64>
      seen_{};  // bit n % kWidth: n, of the newest kWidth numbers
};

}  // namespace tempo::auth
