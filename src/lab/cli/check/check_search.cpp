#include "lab/cli/check/check_search.h"

#include <fmt/core.h>

#include "base/display_text.h"
#include "base/table.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "cli/common/terminal.h"

namespace tempo::cli {
namespace {

using check::Finding;

double states_per_second(const Finding& finding) {
  return static_cast<double>(finding.states) / std::max(finding.seconds, 1e-9);
}

double bytes_per_state(const Finding& finding) {
  return finding.states == 0
             ? 0.0
             : static_cast<double>(finding.bytes) / static_cast<double>(finding.states);
}

}  // namespace

Json json_of(const Finding& finding) {
  Json json = Json::object();
  json.add("states", finding.states)
      .add("transitions", finding.transitions)
      .add("depth", std::uint64_t{finding.depth});
  if (!is_captured())
    json.add("seconds", finding.seconds)
        .add("states_per_second", states_per_second(finding))
        .add("bytes_per_state", bytes_per_state(finding));
  json.add("complete", finding.complete);
  if (finding.omission > 0) json.add("omission_probability", finding.omission);
  if (!finding.stopped.empty()) json.add("stopped", finding.stopped);
  return json;
}

void print_counts(const Finding& finding) {
  report::Table table({"what", {"value", report::Align::right}});
  table.row({"states", report::grouped(finding.states)});
  table.row({"transitions", report::grouped(finding.transitions)});
  table.row({"depth", fmt::format("{} steps", finding.depth)});
  table.row({"seconds", fmt::format("{:.2f}", finding.seconds)});
  table.row({"states/s", report::grouped(static_cast<std::uint64_t>(states_per_second(finding)))});
  table.row({"bytes/state", fmt::format("{:.1f}", bytes_per_state(finding))});
  if (finding.omission > 0)
    table.row({"probability of a missed state", fmt::format("< {:.1g}", finding.omission)});
  print("{}", table.text({.unicode = stdout_shows_unicode()}));
}

std::string ticks_text(std::uint64_t ticks) {
  return fmt::format("{} tick{}", ticks, ticks == 1 ? "" : "s");
}

int status_of(const Finding& finding) {
  if (finding.violation) return kViolation;
  return finding.stopped == "interrupted" ? kInterrupted : kDone;
}

}  // namespace tempo::cli
