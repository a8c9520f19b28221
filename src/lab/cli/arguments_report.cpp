// The command that reproduces the papers, described for CLI11.
#include <memory>

#include <CLI/CLI.hpp>

#include "lab/cli/arguments_topics.h"
#include "lab/cli/report.h"

namespace tempo::cli {

void describe_report_commands(CLI::App& app, std::function<int()>& run) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* command =
      app.add_subcommand("report", "every claim of the papers, reproduced on one page");
  command->add_option("--paper", arguments->paper, "tempo, ring, archimedean, capacity or all")
      ->capture_default_str();
  command->add_flag("--quick", arguments->quick, "within a minute on two cores (the default)");
  command->add_flag("--full", arguments->full, "twenty times as many runs: narrower intervals");
  command->add_flag("--glance", arguments->glance,
                    "a fiftieth of the runs, to see what the page looks like: too few to show "
                    "every claim");
  command
      ->add_option("--out", arguments->out,
                   "directory for report.html, results.json, claims.csv and charts.csv")
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "of all simulations")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--threads", arguments->threads, "0: one for each core")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "the claims as JSON instead of a table");
  command->footer(
      "What is done is kept in the directory: a run that was interrupted goes on from there.\n\n"
      "Exit status: 0 every claim agrees or is a documented erratum, 1 one disagrees, 2 bad "
      "usage,\n"
      "130 interrupted.\n\n"
      "Examples:\n"
      "  tempo report\n"
      "  tempo report --paper ring --full --out ring-report");
  command->callback([&run, arguments] { run = [=] { return report_papers(*arguments); }; });
}

}  // namespace tempo::cli
