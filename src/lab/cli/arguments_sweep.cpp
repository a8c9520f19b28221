// `tempo-lab sweep` and `tempo-lab merge`, described for CLI11.
#include <algorithm>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/common/arguments_command.h"
#include "lab/cli/arguments_topics.h"
#include "lab/cli/sweep/sweep.h"

namespace tempo::cli {
namespace {

// A sweep runs commands whose results depend on their options only, not on files.
bool can_be_swept(const std::string& family, const std::string& name) {
  if (family == "check" || family == "analyze") return true;
  return family == "sim" && name != "merge" && name != "replay";
}

const CLI::App* named(const CLI::App& app, const std::string& name) {
  const auto all =
      app.get_subcommands([&](const CLI::App* one) { return one->get_name() == name; });
  return all.empty() ? nullptr : all.front();
}

std::optional<std::vector<sweep::KnownOption>> options_of(const CLI::App& app,
                                                          const std::string& command) {
  std::istringstream words(command);
  std::string family;
  std::string name;
  std::string more;
  words >> family >> name;
  if (words >> more || !can_be_swept(family, name)) return std::nullopt;
  const CLI::App* const found = named(app, family);
  const CLI::App* const leaf = found == nullptr ? nullptr : named(*found, name);
  if (leaf == nullptr) return std::nullopt;
  std::vector<sweep::KnownOption> options;
  for (const CLI::Option* const option : leaf->get_options())
    for (const std::string& option_name : option->get_lnames())
      options.push_back({option_name, option->get_expected_max() == 0});
  return options;
}

}  // namespace

void describe_sweep_commands(CLI::App& app, std::function<int()>& run) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App* command =
      app.add_subcommand("sweep", "run a simulation, check or analysis over a grid of options");
  command->add_option("spec", arguments->spec, "specification, a TOML file as below")->required();
  command->add_option("--out", arguments->out,
                      "write the results to OUT.jsonl and OUT.csv [SPEC without .toml]");
  describe_threads(*command, *arguments);
  command->add_option("--shard", arguments->shard,
                      "run one part of several, such as 2/4; then merge");
  describe_json(*command, *arguments);
  command->footer(
      "The specification names a command, constant options, and a grid of varying options:\n\n"
      "  command = \"sim election\"\n"
      "  seeds = 3\n"
      "  [options]\n"
      "  scenario = \"churn\"\n"
      "  runs = 100\n"
      "  [grid]\n"
      "  nodes = [5, 11, 21]\n"
      "  loss = { from = 0, to = 0.2, step = 0.05 }\n\n"
      "The results are the same bytes with any number of threads and shards, and under mpirun.\n"
      "An interrupted sweep resumes when it is started again.\n\n"
      "Exit status: 0 success, 1 a property was violated in some cell, 2 bad usage,\n"
      "130 interrupted.\n\n"
      "Examples:\n"
      "  tempo-lab sweep loss.toml\n"
      "  mpirun --hostfile machines tempo-lab sweep loss.toml --threads 4\n"
      "  tempo-lab sweep loss.toml --shard 1/3");
  command->callback([&run, &app, arguments] {
    run = [=, &app] {
      return sweep(*arguments, [&app](const std::string& name) { return options_of(app, name); });
    };
  });

  auto parts = std::make_shared<MergeArguments>();
  CLI::App* merging = app.add_subcommand("merge", "combine the shards of one sweep");
  merging
      ->add_option(
          "file", parts->files,
          "result files (.jsonl) of all shards; or the JSON output of all shards of one 'sim ring'")
      ->required();
  merging->add_option("--out", parts->out, "write the results of a sweep to OUT.jsonl and OUT.csv");
  describe_json(*merging, *parts);
  merging->footer(
      "Exit status: 0 success, 1 a property was violated in some cell, 2 bad usage.\n\n"
      "Examples:\n"
      "  tempo-lab merge --out loss loss.1-of-3.jsonl loss.2-of-3.jsonl loss.3-of-3.jsonl");
  merging->callback([&run, parts] { run = [=] { return merge(*parts); }; });
}

}  // namespace tempo::cli
