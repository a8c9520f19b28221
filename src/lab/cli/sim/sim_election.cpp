#include <vector>

#include <fmt/core.h>

#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "lab/cli/output.h"
#include "lab/cli/sim/commands.h"
#include "lab/cli/sim/election_answer.h"
#include "lab/cli/sim/election_plan.h"
#include "lab/cli/sim/election_runs.h"
#include "lab/report/space_time.h"
#include "lab/studies/election/baselines.h"
#include "lab/studies/election/scenario.h"
#include "lab/studies/election/script.h"
#include "lab/studies/election/shrink_experiment.h"

namespace tempo::cli {
namespace {

using sim::election::baseline_costs;
using sim::election::BaselineCost;
using sim::election::Experiment;
using sim::election::Outcome;
using sim::election::Setup;
using sim::election::Violation;

void print_violations(const SimElectionArguments& arguments, std::uint64_t seed,
                      const std::vector<Violation>& violations) {
  for (const Violation& violation : violations)
    print_error("violated: {} at {}s: {}\n", violation.property,
                printed_seconds(violation.at.time_since_epoch()), violation.seen);
  print_error("replay: {}\n", replay_line(arguments, seed));
}

// Writes the run as a script. A run that violates a property is shrunk first: faults that the
// violation does not need are removed.
bool write_script(const std::string& path, const Experiment& experiment, const Outcome& outcome) {
  Experiment kept = experiment;
  std::string story = "A run that violates no property.";
  if (!outcome.violations.empty()) {
    const std::string property = outcome.violations.front().property;
    kept = shrink(experiment, [&](const Experiment& smaller) { return breaks(smaller, property); });
    story = fmt::format("Violates {}: {}.\nShrunk from {} faults to {}.", property,
                        outcome.violations.front().seen, experiment.plan.size(), kept.plan.size());
  }
  const Result<std::string> text = script_of(kept, story);
  if (!text) {
    bad_usage(text.error());
    return false;
  }
  return write_file(path, *text);
}

int one_run(const SimElectionArguments& arguments, const ElectionPlan& plan) {
  const Result<Experiment> experiment = plan_of(plan.scenario, plan.setup, plan.until);
  if (!experiment) return bad_usage(experiment.error());
  sim::Trace trace(true);
  const bool keep = arguments.trace || !arguments.diagram.empty();
  const Outcome outcome = run(*experiment, keep ? &trace : nullptr);
  std::vector<BaselineCost> baselines;
  if (arguments.baselines)
    baselines = baseline_costs(survivors(plan), arguments.seed, plan.setup.link.delay);

  if (arguments.trace) print("{}", sim::text(trace, true));
  if (!arguments.diagram.empty()) {
    const report::SpaceTimeOptions look{.title = fmt::format("Election: {}", arguments.scenario),
                                        .subtitle = replay_line(arguments, arguments.seed),
                                        .nodes = plan.setup.nodes,
                                        .from = experiment->study_from};
    if (!show_diagram(trace, look, arguments.diagram)) return kBadUsage;
  }
  if (!arguments.script.empty() && !write_script(arguments.script, *experiment, outcome))
    return kBadUsage;

  if (arguments.json) {
    print_json(outcome_json(arguments, plan, outcome, baselines));
  } else if (!arguments.trace && arguments.diagram != "-") {
    print("{}", outcome_table(arguments, plan, outcome, baselines));
  }
  if (outcome.violation_count == 0) return kDone;
  print_violations(arguments, arguments.seed, outcome.violations);
  return kViolation;
}

int all_runs(const SimElectionArguments& arguments, const ElectionPlan& plan) {
  // A plan that is impossible for one seed is impossible for every seed.
  if (const Result<Experiment> first = plan_of(plan.scenario, plan.setup, plan.until); !first)
    return bad_usage(first.error());
  const Tally sum = many_runs(arguments, plan);
  const bool cut_short = sum.runs < arguments.runs;
  if (arguments.json)
    print_json(tally_json(arguments, plan, sum));
  else
    print("{}", tally_table(arguments, plan, sum));
  if (cut_short)
    print_error("tempo-lab: interrupted after {} of {} runs\n", sum.runs, arguments.runs);
  if (sum.violations > 0) {
    Setup setup = plan.setup;
    setup.seed = sum.broken_seed;
    const Experiment broken = *plan_of(plan.scenario, setup, plan.until);
    const Outcome outcome = run(broken);
    print_violations(arguments, sum.broken_seed, outcome.violations);
    if (!arguments.script.empty() && !write_script(arguments.script, broken, outcome))
      return kBadUsage;
    return kViolation;
  }
  return cut_short ? kInterrupted : kDone;
}

}  // namespace

int sim_election(const SimElectionArguments& arguments) {
  const Result<ElectionPlan> plan = parse_plan(arguments);
  if (!plan) return bad_usage(plan.error());
  return arguments.runs == 1 ? one_run(arguments, *plan) : all_runs(arguments, *plan);
}

}  // namespace tempo::cli
