// tempo-lab sim daemon: whole daemons in the simulator.
#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <fmt/format.h>

#include "base/json.h"
#include "base/number_text.h"
#include "base/result.h"
#include "base/span_text.h"
#include "base/table.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "lab/cli/output.h"
#include "lab/cli/parallel_runs.h"
#include "lab/cli/sim/commands.h"
#include "lab/studies/daemon/daemon_world.h"

namespace tempo::cli {
namespace {

using sim::daemon::Outcome;
using sim::daemon::PlannedEvent;
using sim::daemon::Setup;
using sim::daemon::Violation;

constexpr std::uint64_t kMaxRuns = 100'000'000;
constexpr std::size_t kMaxListed = 100;  // violating runs
constexpr double kSecondsPerYear = 365.25 * 86'400;

// "3,17,20": the numbers in ascending order.
Result<std::vector<std::uint32_t>> numbers_in(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto number = parse_number<std::uint32_t>(text.substr(0, comma));
    if (!number)
      return std::unexpected(
          fmt::format("--keep must be a list of numbers such as 3,17,20, not '{}'", text));
    numbers.push_back(*number);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  std::ranges::sort(numbers);
  return numbers;
}

Result<Setup> parse_setup(const SimDaemonArguments& arguments) {
  const auto scenario = sim::daemon::scenario_named(arguments.scenario);
  if (!scenario)
    return std::unexpected(fmt::format("--scenario must be one of {}, not '{}'",
                                       sim::daemon::scenario_names(), arguments.scenario));
  if (arguments.nodes < 1 || arguments.nodes > sim::daemon::kMaxHosts)
    return std::unexpected(fmt::format("--nodes must be from 1 to {}, not {}",
                                       sim::daemon::kMaxHosts, arguments.nodes));
  if (arguments.clients < 1 || arguments.clients > sim::daemon::kMaxClients)
    return std::unexpected(fmt::format("--clients must be from 1 to {}, not {}",
                                       sim::daemon::kMaxClients, arguments.clients));
  if (*scenario == sim::daemon::Scenario::replay &&
      (arguments.nodes < 3 || arguments.clients < arguments.nodes))
    return std::unexpected(std::string(
        "--scenario replay needs --nodes of at least 3 and as many --clients as nodes"));
  if (arguments.runs < 1 || arguments.runs > kMaxRuns)
    return std::unexpected(
        fmt::format("--runs must be from 1 to {}, not {}", kMaxRuns, arguments.runs));
  TRY(until, parse_span(arguments.until));
  if (until < 20s || until > 24h)
    return std::unexpected(std::string("--until must be from 20s to 24h"));
  if (const auto why_not = why_not_threads(arguments.threads)) return std::unexpected(*why_not);
  Setup setup{.nodes = arguments.nodes,
              .clients = arguments.clients,
              .scenario = *scenario,
              .seed = arguments.seed,
              .until = until};
  if (setup.machines() > sim::daemon::kMaxHosts || setup.voters() > sim::daemon::kMaxVoters)
    return std::unexpected(fmt::format("--nodes must leave at most {} machines and {} voters",
                                       sim::daemon::kMaxHosts, sim::daemon::kMaxVoters));
  if (!arguments.keep.empty()) {
    TRY(keep, numbers_in(arguments.keep));
    setup.keep = keep;
  }
  if (arguments.fault == "ignore-order")
    setup.ignore_order = true;
  else if (arguments.fault == "forget-persisted")
    setup.forget_persisted = true;
  else if (arguments.fault == "notify-twice")
    setup.notify_twice = true;
  else if (arguments.fault == "lost-is-absent")
    setup.lost_is_absent = true;
  else if (arguments.fault == "copy-is-hidden")
    setup.copy_shows = false;
  else if (!arguments.fault.empty())
    return std::unexpected(
        fmt::format("--fault must be ignore-order, forget-persisted, notify-twice, "
                    "lost-is-absent or copy-is-hidden, not '{}'",
                    arguments.fault));
  return setup;
}

std::string replay_line(const SimDaemonArguments& arguments, std::uint64_t seed,
                        const std::optional<std::vector<std::uint32_t>>& keep) {
  std::string line =
      fmt::format("tempo-lab sim daemon --nodes {} --clients {} --scenario {} --until {} --seed {}",
                  arguments.nodes, arguments.clients, arguments.scenario, arguments.until, seed);
  if (!arguments.fault.empty()) line += " --fault " + arguments.fault;
  if (!keep) return line;
  line += " --keep ";
  for (std::size_t i = 0; i < keep->size(); ++i)
    line += (i == 0 ? "" : ",") + std::to_string((*keep)[i]);
  return line;
}

// The sums over all runs, and the first run that violates a property.
struct Sum {
  std::uint64_t runs = 0;
  std::uint64_t violating = 0;
  std::uint64_t events = 0;
  std::uint64_t entries = 0;
  std::uint64_t resumes = 0;
  std::uint64_t terms = 0;
  std::uint64_t masters = 0;
  std::uint64_t accidents = 0;
  std::uint64_t replayed = 0;
  std::uint64_t hash = 0;              // of the hashes, in any order
  std::vector<std::uint64_t> seeds{};  // of the violating runs, at most kMaxListed
  std::uint64_t first_seed = 0;
  std::optional<Outcome> first{};

  void add(std::uint64_t seed, Outcome&& outcome) {
    ++runs;
    events += outcome.events;
    entries += outcome.entries;
    resumes += outcome.resumes;
    terms += outcome.terms;
    masters += outcome.masters;
    accidents += outcome.accidents;
    replayed += outcome.replayed;
    hash += outcome.hash;
    if (outcome.kept()) return;
    ++violating;
    if (seeds.size() < kMaxListed) seeds.push_back(seed);
    if (first && first_seed < seed) return;
    first_seed = seed;
    first = std::move(outcome);
  }
};

// Simulated years of the whole network in a day of one core.
double odometer(const Sum& sum, const Setup& setup, const Effort& effort, std::uint32_t workers) {
  const double simulated =
      static_cast<double>(sum.runs) * static_cast<double>(setup.end() / 1ms) / 1000;
  return simulated / kSecondsPerYear / (std::max(effort.elapsed_s, 1e-9) * workers / 86'400);
}

Json json_of(const Sum& sum, double years, const std::string& replay) {
  Json json = Json::object();
  json.add("runs", sum.runs)
      .add("violating_runs", sum.violating)
      .add("events", sum.events)
      .add("lock_entries", sum.entries)
      .add("resumes", sum.resumes)
      .add("group_terms", sum.terms)
      .add("masters", sum.masters)
      .add("accidents", sum.accidents)
      .add("replayed_datagrams", sum.replayed)
      .add("hash", fmt::format("{:016x}", sum.hash));
  if (!is_captured()) json.add("cluster_years_per_core_day", years);
  if (!sum.first) return json;
  Json seeds = Json::array();
  for (const std::uint64_t seed : sum.seeds) seeds.push(fmt::format("{}", seed));
  json.add("violating_seeds", std::move(seeds));
  Json all = Json::array();
  for (const Violation& violation : sum.first->violations)
    all.push(Json::object()
                 .add("property", violation.property)
                 .add("at_ns", violation.at.time_since_epoch().count())
                 .add("text", violation.text));
  return json.add("first", Json::object()
                               .add("seed", fmt::format("{}", sum.first_seed))
                               .add("replay", replay)
                               .add("violations", std::move(all)));
}

std::string table_text(const Sum& sum, double years) {
  report::Table table({"what", {"value", report::Align::right}});
  const auto row = [&](const char* what, std::uint64_t value) {
    table.row({what, fmt::format("{}", value)});
  };
  row("runs", sum.runs);
  row("runs that violate a property", sum.violating);
  row("events", sum.events);
  row("entries into locks", sum.entries);
  row("locks and leads resumed", sum.resumes);
  row("terms of group leaders", sum.terms);
  row("times a node became master", sum.masters);
  row("accidents of records", sum.accidents);
  row("replayed datagrams", sum.replayed);
  table.row({"simulated years per core and day", fmt::format("{:.2f}", years)});
  return table.text();
}

}  // namespace

int sim_daemon(const SimDaemonArguments& arguments) {
  const Result<Setup> setup = parse_setup(arguments);
  if (!setup) return bad_usage(setup.error());
  const std::uint32_t workers = workers_for(arguments.threads);
  Sum sum;
  std::mutex mutex;
  const Effort effort = run_in_parallel({.count = arguments.runs, .what = "networks"}, workers,
                                        [&](std::uint32_t /*worker*/, std::uint64_t number) {
                                          Setup one = *setup;
                                          one.seed = arguments.seed + number;
                                          Outcome outcome = run(one);
                                          const std::scoped_lock guard(mutex);
                                          sum.add(one.seed, std::move(outcome));
                                        });
  std::string replay;
  if (sum.first) {
    Setup failing = *setup;
    failing.seed = sum.first_seed;
    std::optional<std::vector<std::uint32_t>> keep = failing.keep;
    if (arguments.shrink) keep = shrunk(failing, *sum.first);
    replay = replay_line(arguments, sum.first_seed, keep);
  }
  std::ranges::sort(sum.seeds);
  const double years =
      odometer(sum, *setup, effort,
               static_cast<std::uint32_t>(std::min<std::uint64_t>(workers, arguments.runs)));
  if (arguments.json)
    print_json(json_of(sum, years, replay));
  else
    print("{}", table_text(sum, years));
  if (sum.first && !arguments.json) {
    for (const Violation& violation : sum.first->violations)
      print_error("seed {}: violated: {} at {} ms: {}\n", sum.first_seed, violation.property,
                  violation.at.time_since_epoch() / 1ms, violation.text);
    print_error("replay: {}\n", replay);
    if (sum.violating > 1) print_error("violating seeds: {}\n", fmt::join(sum.seeds, ", "));
  }
  if (effort.interrupted) return kInterrupted;
  return sum.first ? kViolation : kDone;
}

}  // namespace tempo::cli
