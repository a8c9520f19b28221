// Tests a function that uses locks, without tempod and without waiting. The function must write
// only while it certainly holds the lock.
//
//   tested_example
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <tempo/fake.h>

namespace {

using namespace std::chrono_literals;

// Writes as many lines as the remaining time allows; each takes up to a second. Returns the number.
int write_lines(tempo::Locks& locks, const std::vector<std::string>& lines,
                const std::function<void(const std::string&)>& write) {
  auto lock = locks.acquire("journal");
  if (!lock) return 0;
  int written = 0;
  for (const std::string& line : lines) {
    if (lock->remaining() < 1s) break;
    write(line);
    ++written;
  }
  return written;
}

bool expect(bool passed, const char* what) {
  std::printf("%s: %s\n", passed ? "ok" : "FAILED", what);
  return passed;
}

}  // namespace

int main() {
  const std::vector<std::string> lines{"one", "two", "three"};
  bool good = true;

  tempo::FakeNetwork::Options options;
  options.lease = 10s;
  tempo::FakeNetwork network(options);
  auto locks = network.locks();
  if (!locks) return 1;
  good &= expect(write_lines(*locks, lines, [](const std::string&) {}) == 3, "writes all lines");

  good &= expect(write_lines(*locks, lines,
                             [&](const std::string& line) {
                               if (line == "two") network.lose("journal");
                             }) == 2,
                 "stops when the lock is lost");

  good &= expect(write_lines(*locks, lines,
                             [&](const std::string& line) {
                               if (line != "one") return;
                               network.pause();
                               network.advance(9500ms);
                             }) == 1,
                 "stops when the lease is nearly over");
  return good ? 0 : 1;
}
