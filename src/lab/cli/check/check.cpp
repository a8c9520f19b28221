#include <algorithm>
#include <vector>

#include <fmt/core.h>

#include "base/json.h"
#include "base/result.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "lab/check/core_model.h"
#include "lab/check/explore.h"
#include "lab/cli/check/check_explore.h"
#include "lab/cli/check/check_plan.h"
#include "lab/cli/check/check_search.h"
#include "lab/cli/check/commands.h"
#include "lab/cli/output.h"
#include "lab/studies/election/replay.h"

namespace tempo::cli {
namespace {

using check::Finding;

int report_election(const CheckElectionArguments& arguments, const CheckPlan& plan,
                    check::Space<check::ElectionModel>& space, const Finding& finding) {
  std::string script;
  if (finding.violation) {
    std::vector<check::Move> moves = finding.violation->prefix;
    moves.insert(moves.end(), finding.violation->cycle.begin(), finding.violation->cycle.end());
    std::string counterexample = finding.violation->property + " is violated";
    if (!finding.violation->cycle.empty())
      counterexample +=
          fmt::format("; the steps from {} on form a cycle", finding.violation->prefix.size() + 1);
    script = check::replay_script(space, moves, counterexample);
  }
  if (!script.empty() && !arguments.replay.empty() && !write_file(arguments.replay, script))
    return kBadUsage;
  if (!script.empty() && !arguments.diagram.empty()) {
    const Result<check::Replayed> replayed = check::replay(script);
    if (!replayed) return bad_usage("cannot replay the counterexample: " + replayed.error());
    if (!show_diagram(
            replayed->trace,
            {.title = finding.violation->property + " is violated", .nodes = replayed->nodes},
            arguments.diagram))
      return kBadUsage;
  }
  if (arguments.json) {
    Json lines = Json::array();
    for (const std::string& line : assumptions(plan)) lines.push(line);
    Json violations = Json::array();
    if (finding.violation)
      violations.push(Json::object()
                          .add("property", finding.violation->property)
                          .add("steps", std::uint64_t{finding.violation->prefix.size()})
                          .add("cycle", std::uint64_t{finding.violation->cycle.size()})
                          .add("replay", script));
    print_json(json_of(finding).add("assumptions", lines).add("violations", violations));
    return status_of(finding);
  }
  print_counts(finding);
  print("\nassumptions\n");
  for (const std::string& line : assumptions(plan)) print("  - {}\n", line);
  if (finding.violation)
    print("\n{} is violated; shortest counterexample, {} steps:\n\n{}\n",
          finding.violation->property, finding.violation->prefix.size(), script);
  else if (finding.complete)
    print(
        "\nAll reachable states were explored. obeys-newest, conservative, sole-candidate-wins "
        "and\n"
        "always-led hold where they apply, there is no deadlock, and from every state the network\n"
        "can still reach one master that all follow.\n");
  else
    print("\nIncomplete: {}. No violation in the explored states.\n", finding.stopped);
  if (finding.violation)
    print("Replay: tempo-lab check election ... --replay FILE, then tempo-lab sim replay FILE\n");
  return status_of(finding);
}

}  // namespace

int check_election(const CheckElectionArguments& arguments) {
  const Result<CheckPlan> plan = parse_plan(arguments);
  if (!plan) return bad_usage(plan.error());
  check::Space<check::ElectionModel> space(plan->model, plan->freedom);
  if (arguments.explore) return explore_interactively(space);
  const Finding finding = searched(
      space,
      {.memory = plan->memory, .fingerprints = plan->fingerprints, .threads = arguments.threads});
  return report_election(arguments, *plan, space, finding);
}

int check_core_model(const CheckCoreArguments& arguments) {
  const Result<std::size_t> memory = memory_of(arguments.memory);
  if (!memory) return bad_usage(memory.error());
  if (arguments.nodes < 1 || arguments.nodes > check::kMaxNodes)
    return bad_usage(
        fmt::format("--nodes must be from 1 to {}, not {}", check::kMaxNodes, arguments.nodes));
  if (arguments.threads > 2) return bad_usage("--threads must be 1 or 2, or 0 for one per core");
  if (arguments.timeouts > 100 || arguments.capacity < 1 ||
      arguments.capacity * arguments.nodes > 64 / arguments.nodes)
    return bad_usage(
        "--timeouts must be at most 100, --capacity at least 1, and all inboxes together must "
        "hold at most 64 messages");
  const check::CoreModel model{arguments.timeouts};
  check::Space<check::CoreModel> space(
      model, check::core_freedom(arguments.nodes, arguments.capacity, arguments.symmetry));
  const Finding finding = searched(
      space,
      {.memory = *memory, .fingerprints = arguments.fingerprints, .threads = arguments.threads});
  if (arguments.json)
    print_json(json_of(finding));
  else
    print_counts(finding);
  if (!finding.complete && !arguments.json) print("\nIncomplete: {}.\n", finding.stopped);
  return status_of(finding);
}

}  // namespace tempo::cli
