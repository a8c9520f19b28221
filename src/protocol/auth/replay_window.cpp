#include "protocol/auth/replay_window.h"

namespace tempo::auth {
namespace {

constexpr std::uint64_t mask_of(std::uint64_t number) { return std::uint64_t{1} << (number % 64); }

}  // namespace

bool ReplayWindow::fresh(std::uint64_t number) {
  const auto word = [this](std::uint64_t n) -> std::uint64_t& { return seen_[n % kWidth / 64]; };
  if (number > highest_) {
    // Clear the bits of the skipped numbers: they belong to numbers that leave the window.
    if (number - highest_ >= kWidth)
      seen_.fill(0);
    else
      for (std::uint64_t n = highest_ + 1; n < number; ++n) word(n) &= ~mask_of(n);
    highest_ = number;
    word(number) |= mask_of(number);
    return true;
  }
  if (number == 0 || highest_ - number >= kWidth) return false;
  if ((word(number) & mask_of(number)) != 0) return false;
  word(number) |= mask_of(number);
  return true;
}

}  // namespace tempo::auth
