// Wait helpers for tests with a fake network.
#pragma once

#include <chrono>
#include <thread>

#include <poll.h>

namespace tempo {

inline bool readable(int descriptor, std::chrono::milliseconds wait) {
  pollfd polled{descriptor, POLLIN, 0};
  return poll(&polled, 1, static_cast<int>(wait.count())) == 1;
}

template <class Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  return condition();
}

}  // namespace tempo
