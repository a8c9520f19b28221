// Cost of reading network time, compared with clock_gettime.
//
//   bench_now
//
// Median of many runs in thread CPU time, so that other load matters less.
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <vector>

#include <fmt/core.h>

#include "api/page_file.h"
#include "tempo/time.h"

namespace tempo {
namespace {

double cpu_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

template <class Call>
double median_cost(Call call) {
  constexpr int kRuns = 101;
  constexpr int kCalls = 20'000;
  std::vector<double> costs;
  for (int run = 0; run < kRuns; ++run) {
    const double begin = cpu_ns();
    for (int i = 0; i < kCalls; ++i) call();
    costs.push_back((cpu_ns() - begin) / kCalls);
  }
  std::ranges::sort(costs);
  return costs[kRuns / 2];
}

double clock_cost(clockid_t clock) {
  return median_cost([clock] {
    timespec time{};
    ::clock_gettime(clock, &time);
    asm volatile("" : : "g"(&time) : "memory");
  });
}

int measure() {
  char name[] = "/tmp/bench_now_XXXXXX";
  const std::filesystem::path directory = ::mkdtemp(name);
  const std::string path = directory / "tempod.page";
  auto writer = page::Writer::open(path);
  const auto page = TimePage::open(path);
  if (!writer || !page) {
    fmt::print(stderr, "bench_now: {}\n", writer ? page.error().message : writer.error());
    return 1;
  }
  const page::Moment moment = page::read_moment_closely();
  const page::ClockLine line{.shows = WallTime{1'700'000'000s}, .rate = 20e-6};
  writer->write({.raw = moment.raw,
                 .boot = moment.boot,
                 .real = moment.real,
                 .time = line,
                 .earliest = line,
                 .latest = line,
                 .held_wander = 10e-6,
                 .fresh = 1h,
                 .lasts = 2h,
                 .status = page::Status::synchronized});
  const double realtime = clock_cost(CLOCK_REALTIME);
  const double now = median_cost([&] {
    const Now reading = page->now();
    asm volatile("" : : "g"(&reading) : "memory");
  });
  Timestamps stamps(*page);
  const double stamp = median_cost([&] {
    const auto taken = stamps.next();
    asm volatile("" : : "g"(&taken) : "memory");
  });
  fmt::print("clock_gettime  {:6.1f} ns   (raw {:.1f}, coarse {:.1f}: a reading needs both)\n",
             realtime, clock_cost(CLOCK_MONOTONIC_RAW), clock_cost(CLOCK_REALTIME_COARSE));
  fmt::print("now()          {:6.1f} ns   {:.2f} x clock_gettime (target 100 ns)\n", now,
             now / realtime);
  fmt::print("next()         {:6.1f} ns   {:.2f} x clock_gettime\n", stamp, stamp / realtime);
  std::filesystem::remove_all(directory);
  return now < 100 ? 0 : 1;
}

}  // namespace
}  // namespace tempo

int main() { return tempo::measure(); }
