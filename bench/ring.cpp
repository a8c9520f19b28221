// Equitable ring elections per second on one core: 64 stations, priorities 1..16.
//
// One run compares four implementations: a simple loop (an array of stations, one draw per station,
// survivors copied down), a bit-sliced loop on 64-bit words, the same with AVX2, and the production
// machine in the simulator, hop by hop. The first three use the same kind of generator. Times are
// thread CPU time, so that other load matters less; the median of several turns.
#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <functional>
#include <vector>

#include <fmt/core.h>

#include "lab/analysis/equitable.h"
#include "lab/analysis/lanes.h"
#include "lab/analysis/ring_time.h"
#include "lab/studies/group/ring/equitable.h"

namespace tempo::monte_carlo {
namespace {

constexpr std::uint32_t kStations = 64;
constexpr std::uint32_t kRange = 16;
constexpr int kTurns = 7;

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Measured {
  double per_second = 0;
  double mean_rounds = 0;
};

// `draw(turn)` returns the number of elections and the sum of their rounds.
Measured measure(const std::function<std::pair<std::uint64_t, std::uint64_t>(int)>& draw) {
  std::vector<double> speeds;
  std::uint64_t elections = 0;
  std::uint64_t rounds = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    const double start = thread_seconds();
    const auto [drawn, took] = draw(turn);
    speeds.push_back(static_cast<double>(drawn) / (thread_seconds() - start));
    elections += drawn;
    rounds += took;
  }
  std::ranges::sort(speeds);
  return {speeds[kTurns / 2], static_cast<double>(rounds) / static_cast<double>(elections)};
}

std::pair<std::uint64_t, std::uint64_t> scalar_loop(int turn) {
  constexpr std::uint64_t kElections = 200'000;
  Generator generator = lanes_of(1, Cause::equitable, static_cast<std::uint32_t>(turn))[0];
  std::uint64_t rounds = 0;
  std::array<std::uint8_t, kStations> priority{};
  for (std::uint64_t i = 0; i < kElections; ++i) {
    for (std::uint32_t active = kStations; active > 1; ++rounds) {
      std::uint64_t random = 0;
      for (std::uint32_t s = 0; s < active; ++s) {
        if (s % 16 == 0) random = generator.next();
        priority[s] = random & 15;
        random >>= 4;
      }
      std::uint32_t left = 0;
      for (std::uint32_t s = 0; s < active; ++s)
        left += priority[s] <= priority[s == 0 ? active - 1 : s - 1] ? 1U : 0U;
      active = left;
    }
  }
  return {kElections, rounds};
}

std::pair<std::uint64_t, std::uint64_t> sliced(int turn, Width width) {
  constexpr std::uint32_t kBlocks = 400;
  EquitableCounts sum;
  for (std::uint32_t block = 0; block < kBlocks; ++block)
    sum += run_block({.stations = kStations, .range = kRange}, 1,
                     static_cast<std::uint32_t>(turn) * kBlocks + block, kBlock, width);
  std::uint64_t rounds = 0;
  for (std::size_t k = 0; k < sum.rounds.size(); ++k) rounds += k * sum.rounds[k];
  return {sum.elections, rounds};
}

std::pair<std::uint64_t, std::uint64_t> machines(int turn) {
  constexpr std::uint64_t kElections = 300;
  std::uint64_t rounds = 0;
  for (std::uint64_t i = 0; i < kElections; ++i)
    rounds += sim::ring::run({.stations = kStations,
                              .range = kRange,
                              .seed = static_cast<std::uint64_t>(turn) * kElections + i})
                  .rounds;
  return {kElections, rounds};
}

int run() {
  const analysis::RingTime exact(kStations, kRange);
  fmt::print("equitable ring, {} stations, priorities 1..{}; exact mean of the rounds {:.6f}\n\n",
             kStations, kRange, exact.moments(1)[1].nearest);
  const Measured scalar = measure(scalar_loop);
  const Measured plain = measure([](int turn) { return sliced(turn, Width::plain); });
  const Measured machine = measure(machines);
  const auto print = [&](const char* what, const Measured& measured) {
    fmt::print("{:<34} {:>12.4g} elections/s  {:>8.2f} x simple loop   mean {:.6f}\n", what,
               measured.per_second, measured.per_second / scalar.per_second, measured.mean_rounds);
  };
  print("simple loop over the stations", scalar);
  print("bit-sliced, 64-bit words", plain);
  if (available(Width::avx2))
    print("bit-sliced, AVX2", measure([](int turn) { return sliced(turn, Width::avx2); }));
  print("production machine, simulated", machine);
  return 0;
}

}  // namespace
}  // namespace tempo::monte_carlo

int main() { return tempo::monte_carlo::run(); }
