// The commands about sweeps, described for CLI11.
#include <algorithm>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/common/arguments_command.h"
#include "lab/cli/arguments_topics.h"
#include "lab/cli/sweep.h"

namespace tempo::cli {
namespace {

// What can be swept gives results that a seed decides: no daemon is asked, no file read.
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
      app.add_subcommand("sweep", "a simulation, check or analysis over a grid of its options");
  command->add_option("spec", arguments->spec, "a TOML file: what to run, see below")->required();
  command->add_option("--out", arguments->out,
                      "results go to OUT.jsonl and OUT.csv [the file's name without .toml]");
  describe_threads(*command, *arguments);
  command->add_option("--shard", arguments->shard, "do one part of several, as 2/4; then merge");
  command->add_flag("--json", arguments->json, "say in JSON what was done");
  command->footer(
      "The file names a command, options that stay, and a grid of those that change:\n\n"
      "  command = \"sim election\"\n"
      "  seeds = 3\n"
      "  [options]\n"
      "  scenario = \"churn\"\n"
      "  runs = 100\n"
      "  [grid]\n"
      "  nodes = [5, 11, 21]\n"
      "  loss = { from = 0, to = 0.2, step = 0.05 }\n\n"
      "Results are the same bytes with any number of threads, in any parts, and under mpirun. A\n"
      "run that was stopped goes on where it was when it is started again.\n\n"
      "Exit status: 0 done, 1 done, and in some cell a promise was broken, 2 bad usage,\n"
      "130 interrupted.\n\n"
      "Examples:\n"
      "  tempo sweep loss.toml\n"
      "  mpirun --hostfile machines tempo sweep loss.toml --threads 4\n"
      "  tempo sweep loss.toml --shard 1/3");
  command->callback([&run, &app, arguments] {
    run = [=, &app] {
      return sweep(*arguments, [&app](const std::string& name) { return options_of(app, name); });
    };
  });

  auto parts = std::make_shared<MergeArguments>();
  CLI::App* merging = app.add_subcommand("merge", "put the shards of one sweep together");
  merging
      ->add_option("file", parts->files,
                   "what each shard wrote: its .jsonl; or what each of one `sim ring` printed")
      ->required();
  merging->add_option("--out", parts->out, "results of a sweep go to OUT.jsonl and OUT.csv");
  merging->add_flag("--json", parts->json, "say in JSON what was done");
  merging->footer(
      "Exit status: 0 done, 1 done, and in some cell a promise was broken, 2 bad usage.\n\n"
      "Examples:\n"
      "  tempo merge --out loss loss.1-of-3.jsonl loss.2-of-3.jsonl loss.3-of-3.jsonl");
  merging->callback([&run, parts] { run = [=] { return merge(*parts); }; });
}

}  // namespace tempo::cli
