// Waits for a lock beside other things, in a loop of its own: here it counts seconds meanwhile.
//
//   waiting_example [SOCKET]
#include <algorithm>
#include <chrono>
#include <cstdio>

#include <poll.h>
#include <tempo/lock.h>

int main(int count, char** words) {
  using namespace std::chrono_literals;
  auto locks = tempo::Locks::connect(count > 1 ? words[1] : tempo::kDefaultControlSocket);
  if (!locks) {
    std::fprintf(stderr, "waiting_example: %s\n", locks.error().sentence.c_str());
    return 1;
  }
  tempo::AcquireOptions options;
  options.wait = 10s;
  auto pending = locks->acquire_async("waited-for", options);
  while (pending) {
    auto lock = pending->look();
    if (!lock) {
      std::fprintf(stderr, "waiting_example: %s\n", lock.error().sentence.c_str());
      return 1;
    }
    if (*lock) {
      std::printf("token %llu\n", static_cast<unsigned long long>((*lock)->token()));
      return 0;
    }
    pollfd news{locks->descriptor(), POLLIN, 0};
    const auto wait = std::min<std::chrono::nanoseconds>(pending->timeout(), 1s);
    if (poll(&news, 1, static_cast<int>(wait / 1ms) + 1) == 0) std::puts("another second");
  }
  std::fprintf(stderr, "waiting_example: %s\n", pending.error().sentence.c_str());
  return 1;
}
