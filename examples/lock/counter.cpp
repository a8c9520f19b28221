// Increments a counter in a file that all machines share. The file also holds the token of the last
// writer; the program refuses to write with a smaller one.
//
//   counter_example FILE [SOCKET]
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>

#include <tempo/lock.h>

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  if (argc < 2) {
    std::fputs("counter_example FILE [SOCKET]\n", stderr);
    return 2;
  }
  auto locks = tempo::Locks::connect(argc > 2 ? argv[2] : tempo::kDefaultControlSocket);
  if (!locks) {
    std::fprintf(stderr, "counter_example: %s\n", locks.error().message.c_str());
    return 1;
  }
  tempo::AcquireOptions options;
  options.wait = 10s;
  auto lock = locks->acquire("counter", options);
  if (!lock) {
    std::fprintf(stderr, "counter_example: %s\n", lock.error().message.c_str());
    return 1;
  }
  std::uint64_t number = 0;
  std::uint64_t token = 0;
  std::ifstream(argv[1]) >> number >> token;
  if (lock->token() < token) {
    std::fputs("counter_example: a holder with a newer token has written the file\n", stderr);
    return 1;
  }
  if (lock->remaining() < 10ms) return 1;  // not enough time left to start
  std::ofstream(argv[1]) << number + 1 << ' ' << lock->token() << '\n';
  std::printf("%llu\n", static_cast<unsigned long long>(number + 1));
}
