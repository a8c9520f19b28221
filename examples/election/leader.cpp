// Stands as a candidate for a group and ends as soon as it leads.
//
//   election_example CAPACITY [SOCKET]
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <tempo/election.h>

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  if (argc < 2) {
    std::fputs("election_example CAPACITY [SOCKET]\n", stderr);
    return 2;
  }
  tempo::CandidateOptions options;
  options.capacity = std::atoll(argv[1]);
  options.min_stay = 5s;
  auto election = argc > 2 ? tempo::Election::stand("example", options, argv[2])
                           : tempo::Election::stand("example", options);
  if (!election) {
    std::fprintf(stderr, "election_example: %s\n", election.error().message.c_str());
    return 1;
  }
  bool led = false;
  election->on_lead([&](std::uint64_t term) {
    std::printf("leading in term %llu\n", static_cast<unsigned long long>(term));
    led = true;
  });
  election->on_stop([] { std::puts("stopping"); });
  while (!led)
    if (!election->dispatch(1s)) return 1;  // tempod is gone
  return election->remaining() > 0s ? 0 : 1;
}
