// How well the estimator and the ensemble keep time: the whole table of doc/clock.md.
//
//     bench_clock [SEEDS [NAME]]     8 seeds, every row, unless told otherwise
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "protocol/clock/testing/trial.h"

namespace tempo::clock::testing {
namespace {

struct Row {
  Trial trial;
  double rms;   // bar, in microseconds; 0: none
  double most;  // bar for the largest error; 0: none
};

std::string with(const char* jitter) { return std::string("100us+") + jitter; }

Trial noisy(std::string name, const char* jitter, double wander = 1e-9) {
  return {.name = std::move(name), .out = with(jitter), .back = with(jitter), .wander = wander};
}

std::vector<Row> rows() {
  std::vector<Row> rows{
      {noisy("exp 10", "exp:10us"), 0.30, 2},
      {noisy("exp 100", "exp:100us"), 1.3, 8},
      {noisy("exp 1000", "exp:1ms"), 6, 40},
      {noisy("exp 10, wander 1e-8", "exp:10us", 1e-8), 0.8, 0},
      {noisy("exp 100, wander 1e-8", "exp:100us", 1e-8), 3, 0},
      {noisy("exp 1000, wander 1e-8", "exp:1ms", 1e-8), 13, 0},
      {{.name = "gauss 20", .out = "normal:100us,20us", .back = "normal:100us,20us"}, 2.0, 0},
      {noisy("uniform 0-100", "uniform:0us..100us"), 1.4, 0},
      {{.name = "exp 200 out, 10 back", .out = with("exp:200us"), .back = with("exp:10us")},
       1.6,
       0},
  };
  Trial fast = noisy("exp 100, 16 a second", "exp:100us");
  fast.per_second = 16;
  rows.push_back({fast, 0.25, 0});
  Trial lossy = noisy("exp 100, 10 % lost", "exp:100us");
  lossy.loss = 0.1;
  rows.push_back({lossy, 1.5, 0});
  for (const bool loud : {false, true}) {
    const char* jitter = loud ? "exp:100us" : "exp:10us";
    Trial longer = noisy(std::string("out +200 at half, ") + jitter, jitter);
    longer.later_out = std::string("300us+") + jitter;
    rows.push_back({longer, 0, loud ? 20.0 : 5.0});
  }
  Trial load = noisy("exp 10, then 1000", "exp:10us");
  load.later_out = load.later_back = with("exp:1ms");
  rows.push_back({load, 0, 100});
  Trial relief = noisy("exp 1000, then 10", "exp:1ms");
  relief.later_out = relief.later_back = with("exp:10us");
  rows.push_back({relief, 0, 0});
  Trial jump = noisy("exp 10, clock jumps 1 ms", "exp:10us");
  jump.clock_jump = 1e-3;
  rows.push_back({jump, 0, 0});
  Trial step = noisy("exp 10, rate +1 ppm", "exp:10us");
  step.rate_step = 1e-6;
  rows.push_back({step, 0, 0});
  return rows;
}

void report(int seeds, const char* only) {
  fmt::print("{:28} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7} {:>8} {:>8} {:>6}\n", "us", "rms", "bar",
             "worst", "max", "bar", "sigma", "width", "at 10 s", "broken");
  for (const Row& row : rows()) {
    if (only != nullptr && row.trial.name.find(only) == std::string::npos) continue;
    const Summary s = summarize(row.trial, seeds);
    fmt::print("{:28} {:8.3f} {:8.2f} {:8.3f} {:8.2f} {:8.1f} {:7.3f} {:8.2f} {:8.2f} {:6}\n",
               row.trial.name, s.rms, row.rms, s.worst_rms, s.most, row.most, s.sigma,
               s.width - s.least_trip, s.at_10s, s.violations);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace tempo::clock::testing

int main(int argc, char** argv) {
  const int seeds = argc > 1 ? std::atoi(argv[1]) : 8;
  tempo::clock::testing::report(seeds > 0 ? seeds : 8, argc > 2 ? argv[2] : nullptr);
  return 0;
}
