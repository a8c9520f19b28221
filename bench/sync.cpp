// Accuracy of complete nodes: the table of doc/internals/clock.md, with targets that must be met.
//
//     bench_sync [SEEDS [NAME]]     default: 5 seeds, every row
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "lab/studies/sync/experiment.h"

namespace tempo::sim::sync {
namespace {

struct Target {
  const char* what;
  std::function<double(const Outcome&)> value;
  double limit = 0;   // largest value allowed; 0: printed only
  bool each = false;  // every seed must meet the limit; false: the mean
  double plus = 0;    // alternative limit: first row of this part of the table plus this; 0: unused
  double times = 0;   // alternative limit: first row times this; 0: unused
};

struct Row {
  std::string name;
  Experiment experiment;
  std::vector<Target> targets;
  // Row in which the faulty nodes are absent; compared with it, the time of the correct nodes may
  // differ by kMoved. Empty: no comparison.
  std::string without{};
};
constexpr double kMoved = 2;              // us rms, in kMovedFor after the first false report
constexpr std::uint32_t kMovedFor = 256;  // seconds

using Outcomes = std::vector<Outcome>;

Delay delay(const std::string& jitter) { return *Delay::parse("100us+" + jitter); }

Experiment with(const std::string& jitter, double wander = 1e-9) {
  return {.up = delay(jitter), .down = delay(jitter), .wander = wander};
}

Target rms(double limit) {
  return {.what = "rms", .value = [](const Outcome& o) { return o.rms; }, .limit = limit};
}
Target most(double limit) {
  return {.what = "max",
          .value = [](const Outcome& o) { return o.most; },
          .limit = limit,
          .each = true};
}

std::vector<Row> steady() {
  std::vector<Row> rows{
      {"exp 10", with("exp:10us"), {rms(0.30), most(2)}},
      {"exp 100", with("exp:100us"), {rms(1.3), most(8)}},
      {"exp 1000", with("exp:1ms"), {rms(6), most(40)}},
      {"exp 10, wander 1e-8", with("exp:10us", 1e-8), {rms(0.8)}},
      {"exp 100, wander 1e-8", with("exp:100us", 1e-8), {rms(3)}},
      {"exp 1000, wander 1e-8", with("exp:1ms", 1e-8), {rms(13)}},
      {"normal 100,20", with("normal:100us,20us"), {rms(2.0)}},
      {"uniform 0-100", with("uniform:0us..100us"), {rms(1.4)}},
  };
  Experiment uneven = with("exp:200us");
  uneven.down = delay("exp:10us");
  rows.push_back({"exp 200 up, 10 down", uneven, {rms(1.6)}});
  Experiment fast = with("exp:100us");
  fast.rate = 16;
  rows.push_back({"exp 100, 16 a second", fast, {rms(0.25)}});
  Experiment lossy = with("exp:100us");
  lossy.loss = 0.1;
  rows.push_back({"exp 100, 10 % lost", lossy, {rms(1.5)}});
  return rows;
}

std::vector<Row> disturbed() {
  std::vector<Row> rows;
  for (const bool loud : {false, true}) {
    Experiment longer = with(loud ? "exp:100us" : "exp:10us");
    longer.change_at = 2000;
    longer.longer_up = 200us;
    rows.push_back(
        {loud ? "up +200, exp 100" : "up +200, exp 10", longer, {rms(0), most(loud ? 20 : 5)}});
  }
  Experiment load = with("exp:10us");
  load.change_at = 2000;
  load.later_up = load.later_down = delay("exp:1ms");
  rows.push_back({"exp 10, then 1000", load, {rms(0), most(100)}});
  Experiment ten = with("exp:100us");
  ten.clients = 10;
  rows.push_back({"ten clients, exp 100",
                  ten,
                  {rms(0),
                   {.what = "spread p99",
                    .value = [](const Outcome& o) { return o.spread_p99; },
                    .limit = 10}}});
  Experiment cold = with("exp:10us");
  rows.push_back({"cold start, exp 10",
                  cold,
                  {{.what = "1 ms after s",
                    .value = [](const Outcome& o) { return o.converged_1ms; },
                    .limit = 5,
                    .each = true},
                   {.what = "20 us after s",
                    .value = [](const Outcome& o) { return o.converged_20us; },
                    .limit = 10,
                    .each = true}}});
  Experiment killed = with("exp:100us");
  killed.kill_master_at = 2500;
  rows.push_back(
      {"master killed, exp 100",
       killed,
       {rms(0),
        {.what = "of normal spread",
         .value = [](const Outcome& o) { return o.election_spread / o.spread_before_p99; },
         .limit = 3,
         .each = true}}});
  return rows;
}

std::vector<Row> lying() {
  const std::vector<Target> targets{
      {.what = "rms", .value = [](const Outcome& o) { return o.rms; }, .plus = 2},
      {.what = "pairs",
       .value = [](const Outcome& o) { return o.client_to_client_rms; },
       .plus = 2},
      {.what = "bend", .value = [](const Outcome& o) { return o.bend; }}};
  std::vector<Row> rows;
  Experiment seven = with("exp:100us");
  seven.clients = 6;
  rows.push_back({"seven, none lies", seven, targets});
  for (const bool master : {false, true}) {
    const std::string among = master ? ", master" : "";
    const std::string gone = "2 of 7 gone" + among;
    for (const Lie lie : {Lie::gone, Lie::constant, Lie::drifting, Lie::random}) {
      Experiment two = seven;
      two.liars = {.count = 2, .lie = lie, .master = master};
      rows.push_back({fmt::format("2 of 7 {}{}", name_of(lie), among), two, targets,
                      lie == Lie::gone ? rows.front().name : gone});
    }
  }
  return rows;
}

std::vector<Row> isolated() {
  const auto ratio = [](double limit) {
    return Target{.what = "ratio",
                  .value = [](const Outcome& o) { return o.ensemble_adev[3] / o.member_adev[3]; },
                  .limit = limit};
  };
  const auto alone = [](std::uint32_t nodes) {
    Experiment one = with("exp:10us");
    one.clients = nodes - 1;
    one.isolated = true;
    one.seconds = 7000;
    return one;
  };
  Experiment half = alone(8);
  half.worse_half = 10;
  const Target scale{.what = "scale 1e-9",
                     .value = [](const Outcome& o) { return o.ensemble_adev[3] * 1e9; }};
  Target no_worse = scale;
  no_worse.times = 1.3;
  return {{"isolated: 4", alone(4), {ratio(0), scale}},
          {"isolated: 4 and 4 worse", half, {no_worse}},
          {"isolated: 8", alone(8), {ratio(0.45), scale}},
          {"isolated: 16", alone(16), {ratio(0.33), scale}}};
}

double mean_of(const Outcomes& outcomes, const Target& target) {
  double sum = 0;
  for (const Outcome& o : outcomes) sum += target.value(o) / static_cast<double>(outcomes.size());
  return sum;
}

// Outcomes of the rows of one part of the table; each row runs once, when it is first needed.
class Part {
 public:
  Part(std::vector<Row> rows, std::uint32_t seeds) : rows_(std::move(rows)), seeds_(seeds) {}

  const std::vector<Row>& rows() const { return rows_; }
  const Outcomes& of(const Row& row) {
    Outcomes& outcomes = done_[row.name];
    if (outcomes.empty()) outcomes = run_seeds(row.experiment, seeds_);
    return outcomes;
  }
  const Outcomes& of(const std::string& name) {
    return of(*std::ranges::find(rows_, name, &Row::name));
  }

 private:
  std::vector<Row> rows_;
  std::uint32_t seeds_;
  std::map<std::string, Outcomes> done_;
};

// Reports how far false reports moved the time of the correct nodes.
bool report_moved(const Row& row, Part& part, std::string& line) {
  if (row.without.empty()) return true;
  const Outcomes& lied = part.of(row);
  const Outcomes& without = part.of(row.without);
  const std::uint32_t from = row.experiment.begin_of_lies();
  const std::uint32_t to = std::min(from + kMovedFor, row.experiment.seconds);
  double mean = 0;
  double worst = 0;
  for (std::size_t i = 0; i < lied.size(); ++i) {
    const double moved = apart(lied[i], without[i], from, to);
    mean += moved / static_cast<double>(lied.size());
    worst = std::max(worst, moved);
  }
  line += fmt::format(" | moved {:.3g}, worst {:.3g}", mean, worst);
  if (row.experiment.liars.lie == Lie::gone) return true;
  line += fmt::format(", target {:.3g}", kMoved);
  return mean <= kMoved && worst <= 1.3 * kMoved;
}

bool report(const Row& row, Part& part) {
  bool good = true;
  const Outcomes& outcomes = part.of(row);
  const auto seeds = static_cast<double>(outcomes.size());
  double error = 0;
  double width = 0;
  std::uint64_t violations = 0;
  for (const Outcome& o : outcomes) {
    error += o.rms / seeds;
    width += (o.bound_width - o.least_trip) / seeds;
    violations += o.bound_violations;
  }
  std::string line = fmt::format("{:26}", row.name);
  for (const Target& target : row.targets) {
    const double mean = mean_of(outcomes, target);
    double worst = 0;
    for (const Outcome& o : outcomes) worst = std::max(worst, target.value(o));
    double limit = target.limit;
    if (target.plus > 0) limit = mean_of(part.of(part.rows().front()), target) + target.plus;
    if (target.times > 0) limit = mean_of(part.of(part.rows().front()), target) * target.times;
    line += fmt::format(" | {} {:.3g}, worst {:.3g}", target.what, mean, worst);
    if (limit <= 0) continue;
    line += fmt::format(", target {:.3g}", limit);
    good &= target.each ? worst <= limit : mean <= limit && worst <= 1.3 * limit;
  }
  good &= report_moved(row, part, line);
  good &= violations == 0 && width <= 20 * error;
  fmt::print("{} | width {:.3g} of {:.3g} | broken {} | {:016x} | {}\n", line, width, 20 * error,
             violations, outcomes.front().config_hash, good ? "ok" : "MISSED");
  std::fflush(stdout);
  return good;
}

bool report_all(std::uint32_t seeds, const std::string& only) {
  bool good = true;
  for (const auto& rows : {steady(), disturbed(), lying(), isolated()}) {
    Part part(rows, seeds);
    for (const Row& row : part.rows())
      if (row.name.find(only) != std::string::npos) good &= report(row, part);
  }
  return good;
}

}  // namespace
}  // namespace tempo::sim::sync

int main(int argc, char** argv) {
  CLI::App arguments("accuracy of complete nodes");
  std::uint32_t seeds = 5;
  std::string only;
  arguments.add_option("seeds", seeds)->check(CLI::Range(1, 1000))->capture_default_str();
  arguments.add_option("name", only, "only rows whose name contains this");
  CLI11_PARSE(arguments, argc, argv);
  return tempo::sim::sync::report_all(seeds, only) ? 0 : 1;
}
