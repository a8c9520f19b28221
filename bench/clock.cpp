// Accuracy of the estimator and the ensemble: the complete table of doc/internals/clock.md.
//
//     bench_clock [SEEDS [NAME]]     default: 8 seeds, every row
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "lab/studies/sync/assembly.h"
#include "lab/studies/sync/oscillator.h"
#include "lab/studies/sync/trial.h"
#include "protocol/clock/estimation/estimator.h"

namespace tempo::clock::testing {
namespace {

struct Row {
  Trial trial;
  double rms = 0;   // target, microseconds; 0: none
  double most = 0;  // target for the largest error, microseconds; 0: none
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
  fmt::print("{:28} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7} {:>8} {:>8} {:>6}\n", "us", "rms", "target",
             "worst", "max", "target", "sigma", "width", "at 10 s", "broken");
  for (const Row& row : rows()) {
    if (only != nullptr && row.trial.name.find(only) == std::string::npos) continue;
    const Summary s = summarize(row.trial, seeds);
    fmt::print("{:28} {:8.3f} {:8.2f} {:8.3f} {:8.2f} {:8.1f} {:7.3f} {:8.2f} {:8.2f} {:6}\n",
               row.trial.name, s.rms, row.rms, s.worst_rms, s.most, row.most, s.sigma,
               s.width - s.least_trip, s.at_10s, s.violations);
    std::fflush(stdout);
  }
}

void report_scale(int seeds) {
  fmt::print("\n{:28} {:>10} {:>10} {:>8} {:>8} {:>8} {:>10}\n", "scale, Allan dev. at 256 s",
             "scale", "member", "ratio", "worst", "target", "jolt us");
  struct Case {
    const char* name = "";
    AssemblyTrial trial;
    double target = 0;
  };
  for (const Case& one :
       {Case{"8 nodes", {.nodes = 8}, 0.45}, Case{"16 nodes", {.nodes = 16}, 0.33},
        Case{"8 nodes, disturbed", {.nodes = 8, .disturbed = true}, 0},
        Case{"8 nodes, new master", {.nodes = 8, .hand_over = true}, 0}}) {
    double scale = 0;
    double member = 0;
    double ratio = 0;
    double worst = 0;
    double jolt = 0;
    for (int seed = 1; seed <= seeds; ++seed) {
      const AssemblyOutcome outcome = run(one.trial, static_cast<std::uint64_t>(seed));
      scale += outcome.scale_adev / seeds;
      member += outcome.member_adev / seeds;
      ratio += outcome.scale_adev / outcome.member_adev / seeds;
      worst = std::max(worst, outcome.scale_adev / outcome.member_adev);
      jolt = std::max(jolt, outcome.most_increment);
    }
    fmt::print("{:28} {:10.2e} {:10.2e} {:8.3f} {:8.3f} {:8.2f} {:10.2f}\n", one.name, scale,
               member, ratio, worst, one.target, jolt);
    std::fflush(stdout);
  }
}

// CPU time and memory for one reference with full windows.
void report_cost() {
  constexpr int kWarm = 2000;
  constexpr int kTimed = 10000;
  std::vector<Exchange> exchanges;
  Oscillator clock(10e-6, 1e-9, Stream(1, 1, 0));
  Stream jitter(1, 2, 0);
  for (int t = 0; t < kWarm + kTimed; ++t) {
    const double out = 100e-6 + jitter.exponential(100e-6);
    const double back = 100e-6 + jitter.exponential(100e-6);
    const Instant asked = clock.reading(t);
    exchanges.push_back({.asked = asked,
                         .received = Oscillator::wall(t + out),
                         .answered = Oscillator::wall(t + out),
                         .heard = clock.reading(t + out + back)});
  }
  double best = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    Estimator estimator;
    for (int t = 0; t < kWarm; ++t) estimator.add(exchanges[static_cast<std::size_t>(t)]);
    const std::clock_t start = std::clock();
    for (int t = kWarm; t < kWarm + kTimed; ++t)
      estimator.add(exchanges[static_cast<std::size_t>(t)]);
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / kTimed);
  }
  fmt::print(
      "\nan exchange costs {:.1f} us (target 20); a reference holds {:.2f} MB (target 0.7)\n",
      best * 1e6, static_cast<double>(Estimator::most_bytes()) * 1e-6);
}

}  // namespace
}  // namespace tempo::clock::testing

int main(int argc, char** argv) {
  CLI::App arguments("accuracy of the estimator and the ensemble");
  int seeds = 8;
  std::string only;
  arguments.add_option("seeds", seeds)->check(CLI::Range(1, 1000))->capture_default_str();
  arguments.add_option("name", only, "only rows whose name contains this");
  CLI11_PARSE(arguments, argc, argv);
  tempo::clock::testing::report(seeds, only.empty() ? nullptr : only.c_str());
  if (!only.empty()) return 0;
  tempo::clock::testing::report_scale(seeds);
  tempo::clock::testing::report_cost();
  return 0;
}
