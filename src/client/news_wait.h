// Waiting for news on a connection, which a descriptor of the caller's can end.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>

#include <poll.h>

namespace tempo {

// Until one of the two can be read, or a signal comes; at most `wait`. False: it was `cancel`.
inline bool wait_for_news(int connection, std::chrono::nanoseconds wait, int cancel) {
  constexpr std::chrono::nanoseconds kLongest = std::chrono::hours{1};
  std::array<pollfd, 2> ends{{{connection, POLLIN, 0}, {cancel, POLLIN, 0}}};
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(
      std::clamp(wait, std::chrono::nanoseconds{0}, kLongest));
  if (poll(ends.data(), ends.size(), static_cast<int>(ms.count())) <= 0) return true;
  return (ends[1].revents & (POLLIN | POLLHUP)) == 0;
}

}  // namespace tempo
