#include <fmt/core.h>

#include "base/table.h"
#include "cli/common/exit_codes.h"
#include "cli/common/output.h"
#include "cli/common/terminal.h"
#include "lab/cli/output.h"
#include "lab/cli/sim/commands.h"
#include "lab/cli/sim/sync_answer.h"
#include "lab/cli/sim/sync_plan.h"

namespace tempo::cli {
namespace {

// The main options of the run as a command, for the subtitle of the plot.
std::string command_line(const SimSyncArguments& arguments) {
  std::string line = fmt::format(
      "tempo-lab sim sync --clients {} --delay {} --jitter {} --wander {} --rate {} --seed {}",
      arguments.clients, arguments.delay, arguments.jitter, arguments.wander, arguments.rate,
      arguments.seed);
  if (!arguments.liars.empty()) line += " --liars " + arguments.liars;
  if (arguments.kill_master_at)
    line += fmt::format(" --kill-master-at {}", *arguments.kill_master_at);
  if (arguments.isolated) line += " --isolated";
  if (arguments.trusted > 0) line += fmt::format(" --trusted {}", arguments.trusted);
  if (arguments.utc_liars > 0) line += fmt::format(" --utc-liars {}", arguments.utc_liars);
  return line;
}

}  // namespace

int sim_sync(const SimSyncArguments& arguments) {
  const Result<sim::sync::Experiment> experiment = parse_plan(arguments);
  if (!experiment) return bad_usage(experiment.error());
  const std::vector<sim::sync::Outcome> outcomes =
      sim::sync::run_seeds(*experiment, arguments.seeds, is_captured() ? 1 : arguments.threads);
  const Rows rows = sync_rows(*experiment, outcomes);
  report::PlotOptions look{.title = "Offset of each client's clock from the master's",
                           .subtitle = command_line(arguments),
                           .x_name = "seconds",
                           .y_name = "us",
                           .x_from = static_cast<double>(experiment->discard + 1),
                           .width = stdout_width(),
                           .unicode = stdout_shows_unicode()};
  const std::vector<report::Curve> curves = sync_curves(*experiment, outcomes.front());
  if (!arguments.html.empty() && !write_file(arguments.html, report::plot_html(curves, look, rows)))
    return kBadUsage;
  if (arguments.json) {
    print_json(sync_json(arguments, *experiment, outcomes));
  } else {
    report::Table table({"what", {"value", report::Align::right}});
    for (const auto& [what, value] : rows) table.row({what, value});
    print("{}\n{}", report::plot_text(curves, look), table.text());
  }
  for (const sim::sync::Outcome& outcome : outcomes)
    if (outcome.bound_violations > 0) return kViolation;
  return kDone;
}

}  // namespace tempo::cli
