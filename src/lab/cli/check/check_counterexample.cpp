#include "lab/cli/check/check_counterexample.h"

#include "cli/common/output.h"

namespace tempo::cli {
namespace {

Json lines_json(const std::vector<std::string>& lines) {
  Json list = Json::array();
  for (const std::string& line : lines) list.push(line);
  return list;
}

Json result_json(const Counterexample& counterexample,
                 const std::vector<std::string>& assumptions) {
  Json violations = Json::array();
  if (counterexample.finding.violation)
    violations.push(Json::object()
                        .add("property", counterexample.finding.violation->property)
                        .add("steps", std::uint64_t{counterexample.prefix.size()})
                        .add("cycle", std::uint64_t{counterexample.cycle.size()})
                        .add("trace", lines_json(counterexample.prefix))
                        .add("cycle_trace", lines_json(counterexample.cycle)));
  return json_of(counterexample.finding)
      .add("assumptions", lines_json(assumptions))
      .add("violations", violations);
}

void print_result_text(const Counterexample& counterexample,
                       const std::vector<std::string>& assumptions, const std::string& success) {
  print_counts(counterexample.finding);
  print("\nassumptions\n");
  for (const std::string& line : assumptions) print("  - {}\n", line);
  if (counterexample.finding.violation) {
    print("\n{} is violated:\n\n", counterexample.finding.violation->property);
    for (const std::string& line : counterexample.prefix) print("  {}\n", line);
    if (!counterexample.cycle.empty()) print("\nthen these steps repeat:\n\n");
    for (const std::string& line : counterexample.cycle) print("  {}\n", line);
  } else if (counterexample.finding.complete) {
    print("\nAll reachable states were explored. {}\n", success);
  } else {
    print("\nIncomplete: {}. No violation in the explored states.\n",
          counterexample.finding.stopped);
  }
}

}  // namespace

int print_result(const Counterexample& counterexample, const std::vector<std::string>& assumptions,
                 const std::string& success, bool json) {
  if (json)
    print_json(result_json(counterexample, assumptions));
  else
    print_result_text(counterexample, assumptions, success);
  return status_of(counterexample.finding);
}

}  // namespace tempo::cli
