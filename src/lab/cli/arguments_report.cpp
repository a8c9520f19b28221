// `tempo-lab report`, described for CLI11.
#include <memory>

#include <CLI/CLI.hpp>

#include "lab/cli/arguments_topics.h"
#include "lab/cli/report.h"

namespace tempo::cli {

void describe_report_commands(CLI::App& app, std::function<int()>& run) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* command =
      app.add_subcommand("report", "reproduce every claim of the papers on one page");
  command
      ->add_option("--paper", arguments->paper, "paper: tempo, ring, archimedean, capacity or all")
      ->capture_default_str();
  command->add_flag("--quick", arguments->quick, "less than a minute on two cores (default)");
  command->add_flag("--full", arguments->full, "twenty times the runs: narrower intervals");
  command->add_flag("--glance", arguments->glance,
                    "a fiftieth of the runs: a preview of the page, too few runs for some claims");
  command
      ->add_option("--out", arguments->out,
                   "directory for report.html, results.json, claims.csv and charts.csv")
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "random seed of all simulations")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--threads", arguments->threads, "number of threads; 0: one for each core")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "print the claims as JSON");
  command->footer(
      "Finished experiments are stored in the directory; an interrupted report resumes.\n\n"
      "Exit status: 0 no claim disagrees (--full decides more of the undecided), 1 a claim disagrees,\n"
      "2 bad usage, 130 interrupted.\n\n"
      "Examples:\n"
      "  tempo-lab report\n"
      "  tempo-lab report --paper ring --full --out ring-report");
  command->callback([&run, arguments] { run = [=] { return report_papers(*arguments); }; });
}

}  // namespace tempo::cli
