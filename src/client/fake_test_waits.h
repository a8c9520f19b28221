// What the tests with a fake network wait for.
#pragma once

#include <chrono>
#include <thread>

#include <poll.h>

namespace tempo {

inline bool readable(int descriptor, std::chrono::milliseconds wait) {
  pollfd end{descriptor, POLLIN, 0};
  return poll(&end, 1, static_cast<int>(wait.count())) == 1;
}

template <class Condition>
bool comes_true(Condition condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  return condition();
}

}  // namespace tempo
