// Waits for a lock in a poll loop that also does other work: here it counts the seconds.
//
//   waiting_example [SOCKET]
#include <algorithm>
#include <chrono>
#include <cstdio>

#include <poll.h>
#include <tempo/lock.h>

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  auto locks = tempo::Locks::connect(argc > 1 ? argv[1] : tempo::kDefaultControlSocket);
  if (!locks) {
    std::fprintf(stderr, "waiting_example: %s\n", locks.error().message.c_str());
    return 1;
  }
  tempo::AcquireOptions options;
  options.wait = 10s;
  auto pending = locks->acquire_async("waited-for", options);
  while (pending) {
    auto lock = pending->poll();
    if (!lock) {
      std::fprintf(stderr, "waiting_example: %s\n", lock.error().message.c_str());
      return 1;
    }
    if (*lock) {
      std::printf("token %llu\n", static_cast<unsigned long long>((*lock)->token()));
      return 0;
    }
    pollfd polled{locks->descriptor(), POLLIN, 0};
    const auto wait = std::min<std::chrono::nanoseconds>(pending->timeout(), 1s);
    if (poll(&polled, 1, static_cast<int>(wait / 1ms) + 1) == 0) std::puts("another second");
  }
  std::fprintf(stderr, "waiting_example: %s\n", pending.error().message.c_str());
  return 1;
}
