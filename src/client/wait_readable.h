// Waits for data on a connection; a descriptor of the caller can cancel the wait.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>

#include <poll.h>

namespace tempo {

// Waits until one of the two is readable or a signal arrives, at most `wait`. Returns false if
// `cancel` is readable (-1: none).
inline bool wait_readable(int connection, std::chrono::nanoseconds wait, int cancel) {
  constexpr std::chrono::nanoseconds kMaxWait = std::chrono::hours{1};
  std::array<pollfd, 2> polled{{{connection, POLLIN, 0}, {cancel, POLLIN, 0}}};
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(
      std::clamp(wait, std::chrono::nanoseconds{0}, kMaxWait));
  if (poll(polled.data(), polled.size(), static_cast<int>(ms.count())) <= 0) return true;
  return (polled[1].revents & (POLLIN | POLLHUP)) == 0;
}

}  // namespace tempo
