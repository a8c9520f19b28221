// Which numbers of one life of one sender were seen: the highest, and a window of those below it.
#pragma once

#include <array>
#include <cstdint>

namespace tempo::auth {

class ReplayWindow {
 public:
  static constexpr std::uint64_t kWidth = 256;

  // Whether this number is new; remembers it. Numbers count from 1; one too far below the highest
  // is taken as seen.
  bool fresh(std::uint64_t number);

 private:
  std::uint64_t highest_ = 0;
  std::array<std::uint64_t, kWidth / 64> seen_{};  // bit n % kWidth, for the newest kWidth numbers
};

}  // namespace tempo::auth
