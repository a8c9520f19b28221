#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/json.h"
#include "base/result.h"
#include "base/table.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "lab/cli/output.h"
#include "lab/cli/parallel_runs.h"
#include "lab/cli/sim/commands.h"
#include "lab/studies/group/apps/run.h"

namespace tempo::cli {
namespace {

using sim::apps::all_applications;
using sim::apps::ApplicationInfo;
using sim::apps::info_of;
using sim::apps::Outcome;
using sim::apps::Setup;

constexpr std::uint64_t kDefaultRuns = 1'000;
constexpr std::uint64_t kMaxRuns = 1'000'000;

Result<ApplicationInfo> named(const std::string& name) {
  std::string known;
  for (const ApplicationInfo& one : all_applications()) {
    if (one.name == name) return one;
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  }
  return std::unexpected(fmt::format("unknown application '{}'; use one of {}", name, known));
}

bool shows_one(const SimAppArguments& arguments) {
  return arguments.trace || !arguments.diagram.empty();
}

Result<void> check_arguments(const SimAppArguments& arguments, const ApplicationInfo& info) {
  const auto refuse = [](std::string why) -> Result<void> {
    return std::unexpected(std::move(why));
  };
  if (arguments.variant != "corrected" && arguments.variant != "naive")
    return refuse(fmt::format("--variant must be corrected or naive, not '{}'", arguments.variant));
  if (arguments.nodes < 3 || arguments.nodes > sim::apps::kMaxNodes)
    return refuse(
        fmt::format("--nodes must be from 3 to {}, not {}", sim::apps::kMaxNodes, arguments.nodes));
  const std::uint32_t most = sim::apps::most_crashes(info.application, arguments.nodes);
  if (arguments.crash > most)
    return refuse(fmt::format("{} with {} nodes tolerates at most --crash {}, not {}", info.name,
                              arguments.nodes, most, arguments.crash));
  if (!(arguments.loss >= 0 && arguments.loss <= sim::apps::kMaxLoss))
    return refuse(
        fmt::format("--loss must be from 0 to {}, not {}", sim::apps::kMaxLoss, arguments.loss));
  if (arguments.runs > kMaxRuns)
    return refuse(fmt::format("--runs must be from 1 to {}, not {}", kMaxRuns, arguments.runs));
  if (const auto why_not = why_not_threads(arguments.threads)) return refuse(*why_not);
  if (arguments.runs > 1 && shows_one(arguments))
    return refuse(
        "--trace and --diagram show one run; leave out --runs, and choose the run by --seed");
  if (const auto conflict = json_conflict(arguments.json, arguments.trace, arguments.diagram))
    return refuse(*conflict);
  return {};
}

Result<Setup> parse_plan(const SimAppArguments& arguments) {
  TRY(info, named(arguments.name));
  if (auto good = check_arguments(arguments, info); !good) return std::unexpected(good.error());
  return Setup{.application = info.application,
               .nodes = arguments.nodes,
               .loss = arguments.loss,
               .crashes = arguments.crash,
               .naive = arguments.variant == "naive",
               .seed = arguments.seed};
}

struct Sum {
  std::uint64_t runs = 0, broken = 0, asked = 0, done = 0, elections = 0, broadcasts = 0;
  std::uint64_t fewest = ~std::uint64_t{0}, most = 0;
  double longest_wait = 0;
  std::uint64_t hash = 0;
  std::optional<std::uint64_t> broken_run{};  // first run that violates the property; unset: none

  double mean(std::uint64_t of) const {
    return static_cast<double>(of) / static_cast<double>(std::max<std::uint64_t>(runs, 1));
  }
};

Sum sum_of(const std::vector<Outcome>& outcomes) {
  Sum sum;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& one = outcomes[i];
    if (!one.ran) continue;  // interrupted before this run
    ++sum.runs;
    if (!one.broken.empty()) {
      ++sum.broken;
      if (!sum.broken_run) sum.broken_run = i;
    }
    sum.asked += one.asked;
    sum.done += one.done;
    sum.elections += one.elections;
    sum.broadcasts += one.broadcasts;
    sum.fewest = std::min(sum.fewest, one.fewest);
    sum.most = std::max(sum.most, one.most);
    sum.longest_wait = std::max(sum.longest_wait, one.longest_wait);
    sum.hash = sim::mixed(sum.hash, one.hash);
  }
  if (sum.runs == 0) sum.fewest = 0;
  return sum;
}

Json json_of(const SimAppArguments& arguments, const ApplicationInfo& info, const Sum& sum) {
  return Json::object()
      .add("app", info.name)
      .add("variant", arguments.variant)
      .add("property", info.property)
      .add("runs", sum.runs)
      .add("kept", sum.runs - sum.broken)
      .add("broken", sum.broken)
      .add(info.asked, sum.asked)
      .add(info.done, sum.done)
      .add(fmt::format("{}_per_node", info.done),
           Json::object().add("min", sum.fewest).add("max", sum.most))
      .add("longest_wait_T", sum.longest_wait)
      .add("elections", Json::object().add("mean", sum.mean(sum.elections)))
      .add("broadcasts", Json::object().add("mean", sum.mean(sum.broadcasts)))
      .add("trace_hash", fmt::format("{:016x}", sum.hash));
}

std::string table_text(const ApplicationInfo& info, const Sum& sum) {
  report::Table table({"what", {"value", report::Align::right}});
  const auto row = [&](std::string what, std::string value) {
    table.row({std::move(what), std::move(value)});
  };
  row("runs", fmt::format("{}", sum.runs));
  row(fmt::format("{} held", info.property), fmt::format("{}", sum.runs - sum.broken));
  row(fmt::format("{} violated", info.property), fmt::format("{}", sum.broken));
  row(fmt::format("{}, mean", info.asked), fmt::format("{:.2f}", sum.mean(sum.asked)));
  row(fmt::format("{}, mean", info.done), fmt::format("{:.2f}", sum.mean(sum.done)));
  row(fmt::format("{} of one node, fewest / most", info.done),
      fmt::format("{} / {}", sum.fewest, sum.most));
  row("longest wait, in T", fmt::format("{:.1f}", sum.longest_wait));
  row("elections, mean", fmt::format("{:.2f}", sum.mean(sum.elections)));
  row("broadcasts, mean", fmt::format("{:.2f}", sum.mean(sum.broadcasts)));
  return table.text();
}

int list(bool json) {
  Json all = Json::array();
  report::Table table({"application", "property"});
  for (const ApplicationInfo& one : all_applications()) {
    all.push(Json::object()
                 .add("app", one.name)
                 .add("property", one.property)
                 .add("criterion", one.criterion)
                 .add("about", one.about)
                 .add("naive", one.naive));
    table.row({std::string(one.name), std::string(one.about)});
    table.row({"", fmt::format("criterion: {}", one.criterion)});
    table.row({"", fmt::format("naive: {}", one.naive)});
  }
  json ? print_json(all) : print("{}", table.text());
  return kDone;
}

std::string replay_line(const SimAppArguments& arguments, std::uint64_t seed) {
  std::string line =
      fmt::format("tempo-lab sim app {} --nodes {} --crash {} --variant {}", arguments.name,
                  arguments.nodes, arguments.crash, arguments.variant);
  if (arguments.loss > 0) line += fmt::format(" --loss {}", arguments.loss);
  return line + fmt::format(" --seed {} --runs 1", seed);
}

// Prints or draws one run, message by message.
bool show_run(const SimAppArguments& arguments, const Setup& setup) {
  sim::Trace trace(true);
  run(setup, &trace);
  if (arguments.trace) print("{}", sim::text(trace, true));
  if (arguments.diagram.empty()) return true;
  return show_diagram(trace,
                      {.title = fmt::format("{}, {}", arguments.name, arguments.variant),
                       .subtitle = replay_line(arguments, setup.seed),
                       .nodes = setup.nodes},
                      arguments.diagram);
}

void print_violation(const SimAppArguments& arguments, const ApplicationInfo& info,
                     const Outcome& outcome, std::uint64_t seed) {
  print_error("violated: {} at {} ms: {}\nreplay: {}\n", info.property,
              sim::milliseconds(outcome.broken_at), outcome.broken, replay_line(arguments, seed));
}

}  // namespace

int sim_app(const SimAppArguments& arguments) {
  if (arguments.name.empty()) return list(arguments.json);
  const Result<Setup> setup = parse_plan(arguments);
  if (!setup) return bad_usage(setup.error());
  const ApplicationInfo& info = info_of(setup->application);
  const bool one = shows_one(arguments);
  std::vector<Outcome> outcomes(arguments.runs > 0 ? arguments.runs : one ? 1 : kDefaultRuns);
  const Effort effort = run_in_parallel({.count = outcomes.size(), .what = arguments.name},
                                        workers_for(arguments.threads),
                                        [&](std::uint32_t /*worker*/, std::uint64_t number) {
                                          Setup single = *setup;
                                          single.seed += number;
                                          outcomes[number] = run(single);
                                        });
  if (one && !show_run(arguments, *setup)) return kBadUsage;
  const Sum sum = sum_of(outcomes);
  if (arguments.json)
    print_json(json_of(arguments, info, sum));
  else if (!arguments.trace && arguments.diagram != "-")
    print("{}", table_text(info, sum));
  if (effort.interrupted) print_error("tempo-lab: interrupted after {} runs\n", sum.runs);
  if (sum.broken_run) {
    print_violation(arguments, info, outcomes[*sum.broken_run], arguments.seed + *sum.broken_run);
    return kViolation;
  }
  return effort.interrupted ? kInterrupted : kDone;
}

}  // namespace tempo::cli
