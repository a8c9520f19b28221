#include "lab/cli/check/check.h"

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
#include "lab/cli/output.h"
#include "lab/studies/election/replay.h"

namespace tempo::cli {
namespace {

using check::Finding;

int report_election(const CheckElectionArguments& arguments, const CheckOrder& plan,
                    check::Space<check::ElectionModel>& space, const Finding& finding) {
  std::string script;
  if (finding.violation) {
    std::vector<check::Move> way = finding.violation->prefix;
    way.insert(way.end(), finding.violation->cycle.begin(), finding.violation->cycle.end());
    std::string counterexample = finding.violation->property + " is broken";
    if (!finding.violation->cycle.empty())
      counterexample += fmt::format("; from step {} on it goes in a circle",
                                    finding.violation->prefix.size() + 1);
    script = check::replay_script(space, way, counterexample);
  }
  if (!script.empty() && !arguments.replay.empty() && !write_file(arguments.replay, script))
    return kBadUsage;
  if (!script.empty() && !arguments.diagram.empty()) {
    const Result<check::Replayed> replayed = check::replay(script);
    if (!replayed) return refuse_check("the finding cannot be played: " + replayed.error());
    if (!show_diagram(
            replayed->trace,
            {.title = finding.violation->property + " is broken", .nodes = replayed->nodes},
            arguments.diagram))
      return kBadUsage;
  }
  if (arguments.json) {
    Json words = Json::array();
    for (const std::string& line : assumptions(plan)) words.push(line);
    Json violations = Json::array();
    if (finding.violation)
      violations.push(Json::object()
                          .add("property", finding.violation->property)
                          .add("steps", std::uint64_t{finding.violation->prefix.size()})
                          .add("cycle", std::uint64_t{finding.violation->cycle.size()})
                          .add("replay", script));
    print("{}", json_of(finding).add("assumptions", words).add("violations", violations).text());
    return status_of(finding);
  }
  print_counts(finding);
  print("\nassuming that\n");
  for (const std::string& line : assumptions(plan)) print("  - {}\n", line);
  if (finding.violation)
    print("\n{} is broken, after {} steps and no fewer:\n\n{}\n", finding.violation->property,
          finding.violation->prefix.size(), script);
  else if (finding.complete)
    print(
        "\nEvery reachable state was seen. obeys-newest, conservative, sole-candidate-wins and\n"
        "always-led hold where they are promised, there is no dead end, and from every state the\n"
        "network can still come to have one master that all follow.\n");
  else
    print("\nNot complete: {}. Nothing broken among the states seen.\n", finding.stopped);
  if (finding.violation)
    print("Play it again: tempo check election ... --replay FILE, then tempo sim replay FILE\n");
  return status_of(finding);
}

}  // namespace

int check_election(const CheckElectionArguments& arguments) {
  const Result<CheckOrder> plan = parse_plan(arguments);
  if (!plan) return refuse_check(plan.error());
  check::Space<check::ElectionModel> space(plan->model, plan->freedom);
  if (arguments.explore) return explore_by_hand(space);
  const Finding finding = searched(
      space,
      {.memory = plan->memory, .fingerprints = plan->fingerprints, .threads = arguments.threads});
  return report_election(arguments, *plan, space, finding);
}

int check_core_model(const CheckCoreArguments& arguments) {
  const Result<std::size_t> memory = memory_of(arguments.memory);
  if (!memory) return refuse_check(memory.error());
  if (arguments.nodes < 1 || arguments.nodes > check::kMaxNodes)
    return refuse_check(fmt::format("--nodes must be from 1 to {}", check::kMaxNodes));
  if (arguments.threads > 2) return refuse_check("--threads is 1 or 2");
  if (arguments.timeouts > 100 || arguments.capacity < 1 ||
      arguments.capacity * arguments.nodes > 64 / arguments.nodes)
    return refuse_check(
        "--timeouts is at most 100, --capacity at least 1, and all inboxes together hold "
        "at most 64 messages");
  const check::CoreModel model{arguments.timeouts};
  check::Space<check::CoreModel> space(
      model, check::core_freedom(arguments.nodes, arguments.capacity, arguments.symmetry));
  const Finding finding = searched(
      space,
      {.memory = *memory, .fingerprints = arguments.fingerprints, .threads = arguments.threads});
  if (arguments.json)
    print("{}", json_of(finding).text());
  else
    print_counts(finding);
  if (!finding.complete && !arguments.json) print("\nNot complete: {}.\n", finding.stopped);
  return status_of(finding);
}

}  // namespace tempo::cli
