#include "lab/cli/sim/election_plan.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/span_text.h"
#include "lab/cli/output.h"
#include "lab/cli/parallel_runs.h"

namespace tempo::cli {
namespace {

using sim::election::Scenario;

constexpr std::uint32_t kMaxNodes = 2'000;
constexpr std::uint64_t kMaxRuns = 1'000'000;

}  // namespace

Result<ElectionPlan> parse_plan(const SimElectionArguments& arguments) {
  ElectionPlan plan;
  TRY(scenario, sim::election::parse_scenario(arguments.scenario));
  TRY(timing, tempo::election::profile(arguments.profile));
  TRY(variant, tempo::election::parse_variant(arguments.variant));
  TRY(delay, sim::Delay::parse(arguments.delay));
  plan.scenario = scenario;
  if (arguments.nodes < 1 || arguments.nodes > kMaxNodes)
    return std::unexpected(fmt::format("--nodes must be from {} to {}, not {}",
                                       fewest_nodes(scenario), kMaxNodes, arguments.nodes));
  if (arguments.runs < 1 || arguments.runs > kMaxRuns)
    return std::unexpected(
        fmt::format("--runs must be from 1 to {}, not {}", kMaxRuns, arguments.runs));
  if (const auto why_not = why_not_threads(arguments.threads)) return std::unexpected(*why_not);
  for (const auto& [name, probability] : {std::pair{"--loss", arguments.loss},
                                          {"--duplicate", arguments.duplicate},
                                          {"--reorder", arguments.reorder}})
    if (!(probability >= 0 && probability < 1))
      return std::unexpected(fmt::format(
          "{} is a probability and must be from 0 to below 1, not {}", name, probability));
  if (!arguments.election_timer.empty()) {
    const std::size_t dots = arguments.election_timer.find("..");
    if (dots == std::string::npos)
      return std::unexpected(
          fmt::format("--election-timer must be a range a..b, for example 2.5s..5s, not '{}'",
                      arguments.election_timer));
    TRY(low, parse_span(std::string_view(arguments.election_timer).substr(0, dots)));
    TRY(high, parse_span(std::string_view(arguments.election_timer).substr(dots + 2)));
    timing.election_min = low;
    timing.election_max = high;
  }
  if (!arguments.until.empty()) {
    TRY(until, parse_span(arguments.until));
    if (until == Nanos{0}) return std::unexpected(std::string("--until must be above 0"));
    plan.until = until;
  }
  if (arguments.runs > 1 && (arguments.trace || !arguments.diagram.empty()))
    return std::unexpected(std::string(
        "--trace and --diagram show one run; leave out --runs, and choose the run by --seed"));
  if (const auto conflict = json_conflict(arguments.json, arguments.trace, arguments.diagram))
    return std::unexpected(*conflict);
  // The printed algorithm has no repeats, and a node that refuses duplicates would refuse them all.
  const std::uint32_t default_repeats =
      variant.refuse_duplicate ? 0 : tempo::election::Rules{}.repeats;
  plan.setup = {
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
  if (arguments.baselines && arguments.nodes >= fewest_nodes(scenario) && survivors(plan) < 2)
    return std::unexpected(std::string("--baselines needs at least two surviving nodes"));
  return plan;
}

std::uint32_t survivors(const ElectionPlan& plan) {
  switch (plan.scenario) {
    case Scenario::start:
    case Scenario::churn:
    case Scenario::partition_heal:
    case Scenario::newcomer_conflict:
      return plan.setup.nodes;
    case Scenario::crash_during_election:
      return plan.setup.nodes - 2;
    default:
      return plan.setup.nodes - 1;
  }
}

std::string replay_line(const SimElectionArguments& arguments, std::uint64_t seed) {
  std::string line =
      fmt::format("tempo-lab sim election --nodes {} --scenario {} --profile {} --delay {}",
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

}  // namespace tempo::cli
