#include "lab/cli/check/check_counterexample.h"

#include "cli/common/output.h"

namespace tempo::cli {
namespace {

Json lines_json(const std::vector<std::string>& lines) {
  Json list = Json::array();
  for (const std::string& line : lines) list.push(line);
  return list;
}

void print_json(const Counterexample& counterexample, const std::vector<std::string>& assumptions) {
  Json violations = Json::array();
  if (counterexample.finding.violation)
    violations.push(Json::object()
                        .add("property", counterexample.finding.violation->property)
                        .add("steps", std::uint64_t{counterexample.prefix.size()})
                        .add("cycle", std::uint64_t{counterexample.cycle.size()})
                        .add("trace", lines_json(counterexample.prefix))
                        .add("cycle_trace", lines_json(counterexample.cycle)));
  print("{}", json_of(counterexample.finding)
                  .add("assumptions", lines_json(assumptions))
                  .add("violations", violations)
                  .text());
}

void print_text(const Counterexample& counterexample, const std::vector<std::string>& assumptions,
                const std::string& kept) {
  print_counts(counterexample.finding);
  print("\nassuming that\n");
  for (const std::string& line : assumptions) print("  - {}\n", line);
  if (counterexample.finding.violation) {
    print("\n{} is broken:\n\n", counterexample.finding.violation->property);
    for (const std::string& line : counterexample.prefix) print("  {}\n", line);
    if (!counterexample.cycle.empty()) print("\nand from there in a circle:\n\n");
    for (const std::string& line : counterexample.cycle) print("  {}\n", line);
  } else if (counterexample.finding.complete) {
    print("\nEvery reachable state was seen. {}\n", kept);
  } else {
    print("\nNot complete: {}. Nothing broken among the states seen.\n",
          counterexample.finding.stopped);
  }
}

}  // namespace

int notify(const Counterexample& counterexample, const std::vector<std::string>& assumptions,
           const std::string& kept, bool json) {
  json ? print_json(counterexample, assumptions) : print_text(counterexample, assumptions, kept);
  return status_of(counterexample.finding);
}

}  // namespace tempo::cli
