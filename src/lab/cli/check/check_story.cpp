#include "lab/cli/check/check_story.h"

#include "cli/common/output.h"

namespace tempo::cli {
namespace {

Json lines_json(const std::vector<std::string>& lines) {
  Json list = Json::array();
  for (const std::string& line : lines) list.push(line);
  return list;
}

void print_json(const Story& story, const std::vector<std::string>& assumptions) {
  Json violations = Json::array();
  if (story.finding.violation)
    violations.push(Json::object()
                        .add("property", story.finding.violation->promise)
                        .add("steps", std::uint64_t{story.stem.size()})
                        .add("cycle", std::uint64_t{story.cycle.size()})
                        .add("trace", lines_json(story.stem))
                        .add("cycle_trace", lines_json(story.cycle)));
  print("{}", json_of(story.finding)
                .add("assumptions", lines_json(assumptions))
                .add("violations", violations)
                .text());
}

void print_text(const Story& story, const std::vector<std::string>& assumptions,
                const std::string& kept) {
  print_counts(story.finding);
  print("\nassuming that\n");
  for (const std::string& line : assumptions) print("  - {}\n", line);
  if (story.finding.violation) {
    print("\n{} is broken:\n\n", story.finding.violation->promise);
    for (const std::string& line : story.stem) print("  {}\n", line);
    if (!story.cycle.empty()) print("\nand from there in a circle:\n\n");
    for (const std::string& line : story.cycle) print("  {}\n", line);
  } else if (story.finding.complete) {
    print("\nEvery reachable state was seen. {}\n", kept);
  } else {
    print("\nNot complete: {}. Nothing broken among the states seen.\n", story.finding.stopped);
  }
}

}  // namespace

int notify(const Story& story, const std::vector<std::string>& assumptions, const std::string& kept,
         bool json) {
  json ? print_json(story, assumptions) : print_text(story, assumptions, kept);
  return status_of(story.finding);
}

}  // namespace tempo::cli
