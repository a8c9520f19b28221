// Counts in a file that all machines share, one at a time: read, add one, write. The token of the
// last who wrote stands beside the number, and an older one is refused.
//
//   counter_example FILE [SOCKET]
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>

#include <tempo/lock.h>

int main(int count, char** words) {
  using namespace std::chrono_literals;
  if (count < 2) {
    std::fputs("counter_example FILE [SOCKET]\n", stderr);
    return 2;
  }
  auto locks = tempo::Locks::connect(count > 2 ? words[2] : tempo::kDefaultControlSocket);
  if (!locks) {
    std::fprintf(stderr, "counter_example: %s\n", locks.error().sentence.c_str());
    return 1;
  }
  tempo::AcquireOptions options;
  options.wait = 10s;
  auto lock = locks->acquire("counter", options);
  if (!lock) {
    std::fprintf(stderr, "counter_example: %s\n", lock.error().sentence.c_str());
    return 1;
  }
  std::uint64_t number = 0;
  std::uint64_t token = 0;
  std::ifstream(words[1]) >> number >> token;
  if (lock->token() < token) {
    std::fputs("counter_example: somebody newer was here\n", stderr);
    return 1;
  }
  if (lock->remaining() < 10ms) return 1;  // too late to begin
  std::ofstream(words[1]) << number + 1 << ' ' << lock->token() << '\n';
  std::printf("%llu\n", static_cast<unsigned long long>(number + 1));
}
