#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/json.h"
#include "base/result.h"
#include "base/span_text.h"
#include "base/table.h"
#include "cli/common/choice.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "lab/cli/output.h"
#include "lab/cli/parallel_runs.h"
#include "lab/cli/sim/commands.h"
#include "lab/studies/group/capacity_run.h"

namespace tempo::cli {
namespace {

using sim::capacity::Algorithm;
using sim::capacity::Criterion;
using sim::capacity::Outcome;
using sim::capacity::Setup;
using tempo::election::capacity::Variant;

template <class Value>
using Names = std::pair<std::string_view, Value>;

constexpr std::array<Names<Algorithm>, 5> kAlgorithms{{{"a", Algorithm::a},
                                                       {"b1", Algorithm::b1},
                                                       {"b2", Algorithm::b2},
                                                       {"b2-unordered", Algorithm::b2_unordered},
                                                       {"c", Algorithm::c}}};
constexpr std::array<Names<Criterion>, 4> kCriteria{{{"random", Criterion::random},
                                                     {"id", Criterion::id},
                                                     {"equal", Criterion::equal},
                                                     {"changing", Criterion::changing}}};
constexpr std::array<Names<Variant>, 2> kVariants{
    {{"corrected", Variant::corrected}, {"as-printed", Variant::as_printed}}};
constexpr std::uint32_t kMaxNodes = 1000;
constexpr std::uint32_t kMaxUnordered = 16;
constexpr std::uint64_t kMaxRuns = 100'000'000;

template <class Value, std::size_t Count>
Result<Value> named(const char* option, const std::array<Names<Value>, Count>& table,
                    const std::string& text) {
  TRY(row, chosen(option, table, text, &Names<Value>::first));
  return row.second;
}

// Rejects options that the algorithm does not have, and values out of range.
Result<void> check_arguments(const SimCapacityArguments& arguments, const Setup& setup) {
  const bool byzantine =
      setup.algorithm == Algorithm::b2 || setup.algorithm == Algorithm::b2_unordered;
  const auto refuse = [](std::string why) -> Result<void> {
    return std::unexpected(std::move(why));
  };
  if (setup.nodes < 2 || setup.nodes > kMaxNodes)
    return refuse(fmt::format("--nodes must be from 2 to {}, not {}", kMaxNodes, setup.nodes));
  if (setup.candidates < 1 || setup.candidates > setup.nodes)
    return refuse(fmt::format("--candidates must be from 1 to {} (--nodes), not {}", setup.nodes,
                              setup.candidates));
  if (arguments.runs < 1 || arguments.runs > kMaxRuns)
    return refuse(fmt::format("--runs must be from 1 to {}, not {}", kMaxRuns, arguments.runs));
  if (!(setup.loss >= 0 && setup.loss < 1))
    return refuse(fmt::format("--loss must be from 0 to below 1, not {:g}", setup.loss));
  if (setup.loss > 0 && setup.algorithm != Algorithm::c)
    return refuse("--loss is for --algorithm c; the others require a reliable broadcast");
  if (setup.malicious > 0 && !byzantine)
    return refuse(
        "--malicious is for --algorithm b2 and b2-unordered; the others tolerate no malicious "
        "node");
  if (setup.nodes < 3 * setup.malicious + 1)
    return refuse(fmt::format("--malicious {} needs at least {} nodes, not {}", setup.malicious,
                              3 * setup.malicious + 1, setup.nodes));
  if (setup.algorithm == Algorithm::b2_unordered && setup.nodes > kMaxUnordered)
    return refuse(fmt::format("--algorithm b2-unordered allows at most {} nodes, not {}",
                              kMaxUnordered, setup.nodes));
  if (setup.crashes + setup.malicious + setup.pauses >= setup.nodes)
    return refuse("--crash, --malicious and --pauses must leave at least one node without faults");
  if (setup.over_atomic &&
      (setup.algorithm == Algorithm::c || setup.algorithm == Algorithm::b2_unordered ||
       setup.malicious > 0 || setup.nodes < setup.crashes + 2))
    return refuse(
        "--broadcast atomic requires algorithm a, b1 or b2, no --malicious, and at least --crash + "
        "2 nodes");
  return {};
}

Result<Setup> parse_plan(const SimCapacityArguments& arguments) {
  TRY(algorithm, named("--algorithm", kAlgorithms, arguments.algorithm));
  TRY(criterion, named("--criterion", kCriteria, arguments.criterion));
  TRY(variant, named("--variant", kVariants, arguments.variant));
  TRY(bound, parse_span(arguments.bound));
  TRY(clock_error, parse_span(arguments.clock_error));
  Nanos skew = algorithm == Algorithm::a ? Nanos{0} : bound;
  if (!arguments.start_skew.empty()) {
    TRY(asked, parse_span(arguments.start_skew));
    skew = asked;
  }
  if (bound <= Nanos{0} || bound > 1h || skew < Nanos{0} || skew > 1h || clock_error < Nanos{0} ||
      clock_error > 1h)
    return std::unexpected(
        std::string("--bound must be above 0s, --start-skew and --clock-error at least 0s, and "
                    "each at most 1h"));
  if (const auto why_not = why_not_threads(arguments.threads)) return std::unexpected(*why_not);
  if (arguments.broadcast != "ideal" && arguments.broadcast != "atomic")
    return std::unexpected(
        fmt::format("--broadcast must be ideal or atomic, not '{}'", arguments.broadcast));
  const Setup setup{
      .algorithm = algorithm,
      .nodes = arguments.nodes,
      .candidates = arguments.candidates != 0 ? arguments.candidates : arguments.nodes,
      .variant = variant,
      .criterion = criterion,
      .loss = arguments.loss,
      .malicious = arguments.malicious,
      .crashes = arguments.crash,
      .pauses = arguments.pauses,
      .bound = bound,
      .start_skew = skew,
      .clock_error = clock_error,
      .self_delivery = !arguments.no_self_delivery,
      .over_atomic = arguments.broadcast == "atomic"};
  if (auto good = check_arguments(arguments, setup); !good) return std::unexpected(good.error());
  return setup;
}

struct Sum {
  std::uint64_t runs = 0, unique = 0, disagree = 0, no_master = 0, several_masters = 0, help = 0,
                rounds = 0, reelections = 0, broadcasts = 0, events = 0;
  Nanos time{0};
  Nanos longest{0};
};

Sum sum_of(const std::vector<Outcome>& outcomes) {
  Sum sum;
  for (const Outcome& one : outcomes) {
    if (one.events == 0) continue;  // interrupted before this run
    ++sum.runs;
    sum.unique += one.unique;
    sum.disagree += one.disagree;
    sum.no_master += one.masters == 0;
    sum.several_masters += one.masters > 1;
    sum.help += one.help > 0;
    sum.rounds += one.rounds;
    sum.reelections += one.reelections;
    sum.broadcasts += one.broadcasts;
    sum.events += one.events;
    sum.time += one.time;
    sum.longest = std::max(sum.longest, one.time);
  }
  return sum;
}

struct Means {
  double rounds, time, longest, broadcasts;
};
Means means_of(const Sum& sum, const Setup& setup) {
  const auto runs = static_cast<double>(std::max<std::uint64_t>(sum.runs, 1));
  const auto bound = static_cast<double>(setup.bound.count());
  return {.rounds = static_cast<double>(sum.rounds) / runs,
          .time = static_cast<double>(sum.time.count()) / runs / bound,
          .longest = static_cast<double>(sum.longest.count()) / bound,
          .broadcasts = static_cast<double>(sum.broadcasts) / runs};
}

Json json_of(const SimCapacityArguments& arguments, const Sum& sum, const Means& means,
             const Effort& effort) {
  Json json = Json::object();
  json.add("algorithm", arguments.algorithm)
      .add("variant", arguments.variant)
      .add("runs", sum.runs)
      .add("unique", sum.unique)
      .add("disagree", sum.disagree)
      .add("no_master", sum.no_master)
      .add("several_masters", sum.several_masters)
      .add("help", sum.help)
      .add("rounds", Json::object().add("mean", means.rounds))
      .add("time_T", Json::object().add("mean", means.time).add("max", means.longest))
      .add("reelections", sum.reelections)
      .add("broadcasts", Json::object().add("mean", means.broadcasts));
  if (!is_captured())
    json.add("events_per_second",
             static_cast<double>(sum.events) / std::max(effort.elapsed_s, 1e-9));
  return json;
}

std::string table_text(const Sum& sum, const Means& means, const Effort& effort) {
  report::Table table({"what", {"value", report::Align::right}, {"share", report::Align::right}});
  const auto count = [&](const char* what, std::uint64_t value) {
    table.row(
        {what, fmt::format("{}", value),
         fmt::format("{:.4f}", static_cast<double>(value) /
                                   static_cast<double>(std::max<std::uint64_t>(sum.runs, 1)))});
  };
  count("runs", sum.runs);
  count("all elect the same", sum.unique);
  count("processes disagree", sum.disagree);
  count("no master", sum.no_master);
  count("several masters", sum.several_masters);
  count("a process asks for help", sum.help);
  table.row({"re-elections", fmt::format("{}", sum.reelections), ""});
  table.row({"rounds, mean", fmt::format("{:.3f}", means.rounds), ""});
  table.row({"broadcasts, mean", fmt::format("{:.3f}", means.broadcasts), ""});
  table.row(
      {"time in T, mean / longest", fmt::format("{:.3f} / {:.3f}", means.time, means.longest), ""});
  table.row(
      {"elections per second",
       fmt::format("{:.0f}", static_cast<double>(sum.runs) / std::max(effort.elapsed_s, 1e-9)),
       ""});
  return table.text();
}

}  // namespace

int sim_capacity(const SimCapacityArguments& arguments) {
  Result<Setup> plan = parse_plan(arguments);
  if (!plan) return bad_usage(plan.error());
  Setup& setup = *plan;
  std::vector<Outcome> outcomes(arguments.runs);
  const Effort effort = run_in_parallel({.count = arguments.runs, .what = "elections"},
                                        workers_for(arguments.threads),
                                        [&](std::uint32_t /*worker*/, std::uint64_t number) {
                                          Setup one = setup;
                                          one.seed = arguments.seed + number;
                                          outcomes[number] = run(one);
                                        });
  if (setup.over_atomic) setup.bound = outcomes.front().bound;
  const Sum sum = sum_of(outcomes);
  const Means means = means_of(sum, setup);
  if (arguments.json)
    print_json(json_of(arguments, sum, means, effort));
  else
    print("{}", table_text(sum, means, effort));
  return effort.interrupted ? kInterrupted : kDone;
}

}  // namespace tempo::cli
