// Stands for a group until it has led it for a moment, one machine at a time.
//
//   election_example CAPACITY [SOCKET]
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <tempo/election.h>

int main(int count, char** words) {
  using namespace std::chrono_literals;
  if (count < 2) {
    std::fputs("election_example CAPACITY [SOCKET]\n", stderr);
    return 2;
  }
  tempo::CandidateOptions options;
  options.capacity = std::atoll(words[1]);
  options.min_stay = 5s;
  auto election = count > 2 ? tempo::Election::stand("example", options, words[2])
                            : tempo::Election::stand("example", options);
  if (!election) {
    std::fprintf(stderr, "election_example: %s\n", election.error().sentence.c_str());
    return 1;
  }
  bool led = false;
  election->on_lead([&](std::uint64_t term) {
    std::printf("leads in term %llu\n", static_cast<unsigned long long>(term));
    led = true;
  });
  election->on_stop([] { std::puts("stops"); });
  while (!led)
    if (!election->dispatch(1s)) return 1;  // tempod is gone
  return election->remaining() > 0s ? 0 : 1;
}
