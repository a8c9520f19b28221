#include "protocol/auth/replay_window.h"

namespace tempo::auth {
namespace {

constexpr std::uint64_t mask_of(std::uint64_t number) { return std::uint64_t{1} << (number % 64); }

}  // namespace

void ReplayWindow::advance(std::uint64_t number) {
  if (number <= highest_) return;
  // Clear the bits of the new numbers: they belong to numbers that leave the window.
  if (number - highest_ >= kWidth)
    seen_.fill(0);
  else
    for (std::uint64_t n = number; n > highest_; --n) seen_[n % kWidth / 64] &= ~mask_of(n);
  highest_ = number;
}

bool ReplayWindow::would_be_fresh(std::uint64_t number) const {
  if (number > highest_) return true;
  if (number == 0 || highest_ - number >= kWidth) return false;
  return (seen_[number % kWidth / 64] & mask_of(number)) == 0;
}

bool ReplayWindow::fresh(std::uint64_t number) {
  if (!would_be_fresh(number)) return false;
  advance(number);
  seen_[number % kWidth / 64] |= mask_of(number);
  return true;
}

}  // namespace tempo::auth
