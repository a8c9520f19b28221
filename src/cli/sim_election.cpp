#include "cli/sim_election.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "base/span_text.h"
#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/terminal.h"
#include "lab/report/progress.h"
#include "lab/report/space_time.h"
#include "lab/report/table.h"
#include "lab/sim/election/baselines.h"
#include "lab/sim/election/scenario.h"
#include "lab/sim/election/script.h"
#include "lab/sim/election/shrink_experiment.h"

namespace tempo::cli {
namespace {

using namespace sim::election;
using sim::baseline_costs;
using sim::BaselineCost;
using tempo::election::Kind;

constexpr std::uint32_t kMostNodes = 2'000;
constexpr std::uint64_t kMostRuns = 1'000'000;
constexpr std::uint32_t kMostThreads = 256;

// The arguments, understood.
struct Order {
  Scenario scenario{};
  Setup setup;
  Nanos until{0};
};

double seconds(Nanos span) { return static_cast<double>(span.count()) / 1e9; }
std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

Result<Order> understand(const SimElectionArguments& arguments) {
  Order order;
  TRY(scenario, parse_scenario(arguments.scenario));
  TRY(timing, tempo::election::profile(arguments.profile));
  TRY(variant, tempo::election::parse_variant(arguments.variant));
  TRY(delay, sim::Delay::parse(arguments.delay));
  order.scenario = scenario;
  if (arguments.nodes < 1 || arguments.nodes > kMostNodes)
    return std::unexpected(fmt::format("--nodes must be from {} to {}, not {}",
                                       fewest_nodes(scenario), kMostNodes, arguments.nodes));
  if (arguments.runs < 1 || arguments.runs > kMostRuns)
    return std::unexpected(
        fmt::format("--runs must be from 1 to {}, not {}", kMostRuns, arguments.runs));
  if (arguments.threads > kMostThreads)
    return std::unexpected(fmt::format("--threads must be from 0 (one for each core) to {}, not {}",
                                       kMostThreads, arguments.threads));
  for (const auto& [name, probability] : {std::pair{"--loss", arguments.loss},
                                          {"--duplicate", arguments.duplicate},
                                          {"--reorder", arguments.reorder}})
    if (!(probability >= 0 && probability < 1))
      return std::unexpected(
          fmt::format("{} is a probability: at least 0 and below 1, not {}", name, probability));
  if (!arguments.election_timer.empty()) {
    const std::size_t dots = arguments.election_timer.find("..");
    if (dots == std::string::npos)
      return std::unexpected(
          fmt::format("--election-timer should have the form a..b, for example 2.5s..5s, not '{}'",
                      arguments.election_timer));
    TRY(low, parse_span(std::string_view(arguments.election_timer).substr(0, dots)));
    TRY(high, parse_span(std::string_view(arguments.election_timer).substr(dots + 2)));
    timing.election_min = low;
    timing.election_max = high;
  }
  if (!arguments.until.empty()) {
    TRY(until, parse_span(arguments.until));
    if (until == Nanos{0}) return std::unexpected(std::string("--until must be longer than 0"));
    order.until = until;
  }
  if (arguments.runs > 1 && (arguments.trace || !arguments.diagram.empty()))
    return std::unexpected(std::string(
        "--trace and --diagram show one run; leave out --runs, and choose the run by --seed"));
  if (arguments.trace && arguments.json)
    return std::unexpected(
        std::string("--trace is for people and --json for programs; choose one"));
  // The printed reading knows no repeats, and one that refuses duplicates would refuse them all.
  const std::uint32_t default_repeats =
      variant.refuse_duplicate ? 0 : tempo::election::Rules{}.repeats;
  order.setup = {
      .nodes = arguments.nodes,
      .rules = {.timing = timing,
                .repeats = arguments.repeats.value_or(default_repeats),
                .variant = variant},
      .link = {.delay = delay,
               .loss = arguments.loss,
               .duplicate = arguments.duplicate,
               .reorder = arguments.reorder,
               .lateness = sim::Delay::uniform(0s, 4 * std::min(delay.mean(), Nanos{1h}))},
      .seed = arguments.seed};
  return order;
}

// The line that repeats one run exactly.
std::string replay_line(const SimElectionArguments& arguments, std::uint64_t seed) {
  std::string line =
      fmt::format("tempo sim election --nodes {} --scenario {} --profile {} --delay {}",
                  arguments.nodes, arguments.scenario, arguments.profile, arguments.delay);
  if (!arguments.election_timer.empty()) line += " --election-timer " + arguments.election_timer;
  if (arguments.repeats) line += fmt::format(" --repeats {}", *arguments.repeats);
  if (arguments.loss > 0) line += fmt::format(" --loss {}", arguments.loss);
  if (arguments.duplicate > 0) line += fmt::format(" --duplicate {}", arguments.duplicate);
  if (arguments.reorder > 0) line += fmt::format(" --reorder {}", arguments.reorder);
  if (!arguments.until.empty()) line += " --until " + arguments.until;
  if (arguments.variant != "corrected") line += " --variant " + arguments.variant;
  return line + fmt::format(" --seed {}", seed);
}

std::uint32_t survivors(const Order& order) {
  switch (order.scenario) {
    case Scenario::start:
    case Scenario::churn:
    case Scenario::partition_heal:
    case Scenario::newcomer_conflict:
      return order.setup.nodes;
    case Scenario::crash_during_election:
      return order.setup.nodes - 2;
    default:
      return order.setup.nodes - 1;
  }
}

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file.good()) return true;
  fmt::print(stderr,
             "tempo: cannot write {}: check that the directory exists and may be written to\n",
             path);
  return false;
}

Json violations_json(const std::vector<Violation>& violations) {
  Json list = Json::array();
  for (const Violation& violation : violations)
    list.push(Json::object()
                  .add("promise", violation.promise)
                  .add("at_s", seconds(violation.at.time_since_epoch()))
                  .add("seen", violation.seen));
  return list;
}

Json baselines_json(const std::vector<BaselineCost>& costs) {
  Json list = Json::array();
  for (const BaselineCost& cost : costs)
    list.push(Json::object()
                  .add("algorithm", cost.name)
                  .add("messages", cost.messages)
                  .add("predicted", cost.predicted)
                  .add("one_leader", cost.agreed));
  return list;
}

// --- one run ---

void print_outcome(const SimElectionArguments& arguments, const Order& order,
                   const Outcome& outcome, const std::vector<BaselineCost>& baselines) {
  report::Table table({"what", {"value", report::Align::right}});
  std::string masters;
  for (const NodeId id : outcome.final_masters)
    masters += fmt::format("{}node {}", masters.empty() ? "" : ", ", index(id) + 1);
  table.row({"scenario", arguments.scenario});
  table.row({"nodes / survivors", fmt::format("{} / {}", order.setup.nodes, survivors(order))});
  table.row({"master at the end", masters.empty() ? "none" : masters});
  table.row({"time to master",
             outcome.reached ? fmt::format("{:.4g} s", seconds(outcome.time_to_master)) : "never"});
  table.row({"election messages", fmt::format("{}", outcome.election_messages)});
  table.row({"sent again", fmt::format("{}", outcome.repeats_sent)});
  for (std::size_t i = 0; i < outcome.messages.size(); ++i)
    if (outcome.messages[i] > 0)
      table.row({fmt::format("  {}", name_of(static_cast<Kind>(i))),
                 fmt::format("{}", outcome.messages[i])});
  table.row({"promises broken", fmt::format("{}", outcome.violation_count)});
  table.row({"trace hash", hash_text(outcome.trace_hash)});
  fmt::print("{}", table.text());
  if (!baselines.empty()) {
    report::Table costs({"algorithm",
                         {"messages", report::Align::right},
                         {"as its paper says", report::Align::right},
                         "one leader"});
    const std::uint64_t n = survivors(order);
    costs.row({"TEMPO", fmt::format("{}", outcome.election_messages),
               order.scenario == Scenario::two_candidates ? fmt::format("{}", 4 * n - 2)
                                                          : fmt::format("{}", 3 * n - 1),
               outcome.final_masters.size() == 1 ? "yes" : "no"});
    for (const BaselineCost& cost : baselines)
      costs.row({cost.name, fmt::format("{}", cost.messages), fmt::format("{}", cost.predicted),
                 cost.agreed ? "yes" : "no"});
    fmt::print("\n{}", costs.text());
  }
}

void print_violations(const SimElectionArguments& arguments, std::uint64_t seed,
                      const std::vector<Violation>& violations) {
  for (const Violation& violation : violations)
    fmt::print(stderr, "broken: {} at {}s: {}\n", violation.promise,
               seconds(violation.at.time_since_epoch()), violation.seen);
  fmt::print(stderr, "replay: {}\n", replay_line(arguments, seed));
}

// The run as a script: if it breaks a promise, what is left of it when everything needless is gone.
bool write_script(const std::string& path, const Experiment& experiment, const Outcome& outcome) {
  Experiment kept = experiment;
  std::string story = "A run that keeps its promises.";
  if (!outcome.violations.empty()) {
    const std::string promise = outcome.violations.front().promise;
    kept = shrink(experiment, [&](const Experiment& smaller) { return breaks(smaller, promise); });
    story = fmt::format("Breaks {}: {}.\nShrunk from {} faults to {}.", promise,
                        outcome.violations.front().seen, experiment.plan.size(), kept.plan.size());
  }
  const Result<std::string> text = script_of(kept, story);
  if (!text) {
    fmt::print(stderr, "tempo: {}\n", text.error());
    return false;
  }
  return write_file(path, *text);
}

int one_run(const SimElectionArguments& arguments, const Order& order) {
  const Result<Experiment> experiment = plan_of(order.scenario, order.setup, order.until);
  if (!experiment) {
    fmt::print(stderr, "tempo: {}\n", experiment.error());
    return kBadUsage;
  }
  sim::Trace trace(true);
  const bool keep = arguments.trace || !arguments.diagram.empty();
  const Outcome outcome = run(*experiment, keep ? &trace : nullptr);
  std::vector<BaselineCost> baselines;
  if (arguments.baselines)
    baselines = baseline_costs(survivors(order), arguments.seed, order.setup.link.delay);

  if (arguments.trace) fmt::print("{}", sim::text(trace, true));
  if (!arguments.diagram.empty()) {
    const report::SpaceTimeOptions look{.title = fmt::format("Election: {}", arguments.scenario),
                                        .subtitle = replay_line(arguments, arguments.seed),
                                        .nodes = order.setup.nodes,
                                        .from = experiment->study_from};
    if (arguments.diagram == "-")
      fmt::print("{}\n",
                 report::space_time_text(trace, look, stdout_width(), stdout_shows_unicode()));
    else if (!write_file(arguments.diagram, report::space_time_html(trace, look)))
      return kBadUsage;
  }
  if (!arguments.script.empty() && !write_script(arguments.script, *experiment, outcome))
    return kBadUsage;

  if (arguments.json) {
    Json messages = Json::object();
    for (std::size_t i = 0; i < outcome.messages.size(); ++i)
      messages.add(name_of(static_cast<Kind>(i)), outcome.messages[i]);
    Json masters = Json::array();
    for (const NodeId id : outcome.final_masters) masters.push(std::uint64_t{index(id)} + 1);
    Json json = Json::object();
    json.add("scenario", arguments.scenario)
        .add("nodes", std::uint64_t{order.setup.nodes})
        .add("survivors", std::uint64_t{survivors(order)})
        .add("election_messages", outcome.election_messages)
        .add("repeats_sent", outcome.repeats_sent)
        .add("messages", messages)
        .add("masters", std::uint64_t{outcome.masters})
        .add("master_nodes", masters);
    if (outcome.reached)
      json.add("time_to_master_s", seconds(outcome.time_to_master));
    else
      json.add_null("time_to_master_s");
    json.add("collision", outcome.collided)
        .add("violations", violations_json(outcome.violations))
        .add("seed", arguments.seed)
        .add("trace_hash", hash_text(outcome.trace_hash));
    if (arguments.baselines) json.add("baselines", baselines_json(baselines));
    fmt::print("{}", json.text());
  } else if (!arguments.trace && arguments.diagram != "-") {
    print_outcome(arguments, order, outcome, baselines);
  }
  if (outcome.violation_count == 0) return kDone;
  print_violations(arguments, arguments.seed, outcome.violations);
  return kBrokenPromise;
}

// --- many runs ---

// What is kept of each run.
struct RunResult {
  bool done = false;
  bool reached = false;
  bool ever_two_masters = false;
  bool collided = false;
  std::uint32_t masters = 0;
  std::uint32_t violations = 0;
  Nanos time_to_master{0};
  Nanos repair{0};
  std::uint64_t election_messages = 0;
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
};

constexpr std::size_t kMostRepetitions = 16;

struct Tally {
  std::uint64_t runs = 0, one_master = 0, no_master = 0, several_masters = 0, ever_two_masters = 0,
                collisions = 0, violations = 0, events = 0, messages = 0, most_messages = 0,
                broken_seed = 0;
  Nanos longest_repair{0};
  std::uint64_t hash = 0;
  std::vector<double> times;
};

Tally tally(const std::vector<RunResult>& results, std::uint64_t first_seed) {
  Tally sum;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const RunResult& result = results[i];
    if (!result.done) continue;
    ++sum.runs;
    sum.one_master += result.masters == 1;
    sum.no_master += result.masters == 0;
    sum.several_masters += result.masters > 1;
    sum.ever_two_masters += result.ever_two_masters;
    sum.collisions += result.collided;
    if (result.violations > 0 && sum.violations == 0) sum.broken_seed = first_seed + i;
    sum.violations += result.violations;
    sum.events += result.events;
    sum.messages += result.election_messages;
    sum.most_messages = std::max(sum.most_messages, result.election_messages);
    sum.longest_repair = std::max(sum.longest_repair, result.repair);
    sum.hash = sim::mixed(sum.hash, result.trace_hash);
    if (result.reached) sum.times.push_back(seconds(result.time_to_master));
  }
  std::ranges::sort(sum.times);
  return sum;
}

double quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  return sorted[std::min(sorted.size() - 1,
                         static_cast<std::size_t>(q * static_cast<double>(sorted.size())))];
}
double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

int many_runs(const SimElectionArguments& arguments, const Order& order) {
  // A plan that is impossible is impossible for every seed.
  if (const Result<Experiment> first = plan_of(order.scenario, order.setup, order.until); !first) {
    fmt::print(stderr, "tempo: {}\n", first.error());
    return kBadUsage;
  }
  const std::uint32_t threads = std::max(
      1U, arguments.threads != 0 ? arguments.threads : std::thread::hardware_concurrency());
  std::vector<RunResult> results(arguments.runs);
  std::array<std::atomic<std::uint64_t>, kMostRepetitions> attempts_made{};
  std::array<std::atomic<std::uint64_t>, kMostRepetitions> attempts_collided{};
  std::atomic<std::uint64_t> next{0};
  report::Progress progress({.what = arguments.scenario, .total = arguments.runs, .unit = "runs"},
                            steady_now, report::stderr_terminal());
  const auto started = std::chrono::steady_clock::now();
  const auto work = [&] {
    for (;;) {
      const std::uint64_t number = next.fetch_add(1);
      if (number >= arguments.runs || interrupted()) return;
      Setup setup = order.setup;
      setup.seed = arguments.seed + number;
      const Outcome outcome = run(*plan_of(order.scenario, setup, order.until));
      results[number] = {
          .done = true,
          .reached = outcome.reached,
          .ever_two_masters = outcome.ever_two_masters,
          .collided = !outcome.attempts.empty() && outcome.attempts.front().collided != 0,
          .masters = outcome.masters,
          .violations = static_cast<std::uint32_t>(outcome.violation_count),
          .time_to_master = outcome.time_to_master,
          .repair = outcome.repair,
          .election_messages = outcome.election_messages,
          .trace_hash = outcome.trace_hash,
          .events = outcome.events};
      for (std::size_t i = 0; i < outcome.attempts.size() && i < kMostRepetitions; ++i) {
        attempts_made[i] += outcome.attempts[i].made;
        attempts_collided[i] += outcome.attempts[i].collided;
      }
      progress.add();
    }
  };
  {
    const InterruptGuard guard;
    std::vector<std::jthread> workers;
    for (std::uint32_t i = 0; i < threads; ++i) workers.emplace_back(work);
    while (progress.done() < arguments.runs && !interrupted()) {
      progress.draw();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  progress.finish();
  const double elapsed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  const Tally sum = tally(results, arguments.seed);
  const bool cut_short = sum.runs < arguments.runs;
  const double runs = static_cast<double>(std::max<std::uint64_t>(sum.runs, 1));
  const double events_per_second = static_cast<double>(sum.events) / std::max(elapsed, 1e-9);

  // Two timers of N within the delay, for one fresh joint draw (Gusella & Zatti 1985, appendix).
  const tempo::election::Timing& timing = order.setup.rules.timing;
  const double width = seconds(timing.election_max - timing.election_min);
  const double predicted =
      order.scenario == Scenario::collision && width > 0
          ? 1 - std::pow(1 - std::min(1.0, seconds(order.setup.link.delay.bound()) / width),
                         survivors(order))
          : 0;
  std::size_t repetitions = 0;
  while (repetitions < kMostRepetitions && attempts_made[repetitions] > 0) ++repetitions;

  if (arguments.json) {
    Json json = Json::object();
    json.add("scenario", arguments.scenario)
        .add("nodes", std::uint64_t{order.setup.nodes})
        .add("survivors", std::uint64_t{survivors(order)})
        .add("runs", sum.runs)
        .add("one_master", sum.one_master)
        .add("no_master", sum.no_master)
        .add("several_masters", sum.several_masters)
        .add("ever_two_masters", sum.ever_two_masters)
        .add("collisions", sum.collisions)
        .add("violations", sum.violations)
        .add("time_to_master_s", Json::object()
                                     .add("mean", mean(sum.times))
                                     .add("p50", quantile(sum.times, 0.5))
                                     .add("p99", quantile(sum.times, 0.99))
                                     .add("max", sum.times.empty() ? 0.0 : sum.times.back()))
        .add("election_messages", Json::object()
                                      .add("mean", static_cast<double>(sum.messages) / runs)
                                      .add("max", sum.most_messages))
        .add("longest_repair_s", seconds(sum.longest_repair));
    if (order.scenario == Scenario::collision) {
      Json rates = Json::array();
      for (std::size_t i = 0; i < repetitions; ++i)
        rates.push(Json::object()
                       .add("attempt", std::uint64_t{i + 1})
                       .add("made", std::uint64_t{attempts_made[i]})
                       .add("collided", std::uint64_t{attempts_collided[i]}));
      json.add("collision_predicted", predicted).add("attempts", rates);
    }
    json.add("seed", arguments.seed)
        .add("threads", std::uint64_t{threads})
        .add("events_per_second", events_per_second)
        .add("trace_hash", hash_text(sum.hash));
    if (cut_short) json.add("interrupted", true);
    fmt::print("{}", json.text());
  } else {
    report::Table table({"what", {"value", report::Align::right}});
    const auto share = [&](std::uint64_t count) {
      return fmt::format("{} ({:.2f} %)", count, 100 * static_cast<double>(count) / runs);
    };
    table.row({"scenario", arguments.scenario});
    table.row({"runs", fmt::format("{}", sum.runs)});
    table.row({"one master", share(sum.one_master)});
    table.row({"no master", share(sum.no_master)});
    table.row({"several masters", share(sum.several_masters)});
    table.row({"ever two masters", share(sum.ever_two_masters)});
    table.row({"collisions", share(sum.collisions)});
    if (order.scenario == Scenario::collision) {
      table.row({"  predicted", fmt::format("{:.2f} %", 100 * predicted)});
      for (std::size_t i = 0; i < repetitions; ++i)
        table.row({fmt::format("  attempt {}", i + 1),
                   fmt::format("{} of {} ({:.2f} %)", attempts_collided[i].load(),
                               attempts_made[i].load(),
                               100.0 * static_cast<double>(attempts_collided[i]) /
                                   static_cast<double>(attempts_made[i]))});
    }
    table.row({"time to master, median", fmt::format("{:.4g} s", quantile(sum.times, 0.5))});
    table.row({"  99 % / longest", fmt::format("{:.4g} s / {:.4g} s", quantile(sum.times, 0.99),
                                               sum.times.empty() ? 0.0 : sum.times.back())});
    table.row(
        {"election messages, mean / most",
         fmt::format("{:.1f} / {}", static_cast<double>(sum.messages) / runs, sum.most_messages)});
    table.row({"promises broken", fmt::format("{}", sum.violations)});
    table.row({"events per second", fmt::format("{:.3g}", events_per_second)});
    table.row({"trace hash", hash_text(sum.hash)});
    fmt::print("{}", table.text());
  }
  if (cut_short)
    fmt::print(stderr, "tempo: interrupted after {} of {} runs\n", sum.runs, arguments.runs);
  if (sum.violations > 0) {
    Setup setup = order.setup;
    setup.seed = sum.broken_seed;
    const Experiment broken = *plan_of(order.scenario, setup, order.until);
    const Outcome outcome = run(broken);
    print_violations(arguments, sum.broken_seed, outcome.violations);
    if (!arguments.script.empty() && !write_script(arguments.script, broken, outcome))
      return kBadUsage;
    return kBrokenPromise;
  }
  return cut_short ? kInterrupted : kDone;
}

}  // namespace

int sim_election(const SimElectionArguments& arguments) {
  const Result<Order> order = understand(arguments);
  if (!order) {
    fmt::print(stderr, "tempo: {}\n", order.error());
    return kBadUsage;
  }
  return arguments.runs == 1 ? one_run(arguments, *order) : many_runs(arguments, *order);
}

}  // namespace tempo::cli
