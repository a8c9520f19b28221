// The commands that calculate, described for CLI11.
#include <memory>

#include "cli/common/arguments_command.h"
#include "lab/cli/analyze.h"
#include "lab/cli/arguments_topics.h"

namespace tempo::cli {

void describe_analyze_commands(CLI::App& app, std::function<int()>& run) {
  CLI::App* analyze_command =
      app.add_subcommand("analyze", "the exact mathematics of elections, for any numbers");
  analyze_command->require_subcommand(1);

  auto ring = std::make_shared<AnalyzeRingArguments>();
  CLI::App* ring_command =
      analyze_command->add_subcommand("ring", "rounds of the equitable ring, exactly");
  ring_command->add_option("--stations", ring->stations, "1 to 512")->capture_default_str();
  ring_command->add_option("--range", ring->range, "priorities are 1 to this")
      ->capture_default_str();
  ring_command->add_option("--rounds", ring->rounds, "k, or from..to")->capture_default_str();
  ring_command->add_option("--moments", ring->moments, "up to this order")->capture_default_str();
  ring_command->add_flag("--chains", ring->chains,
                         "with --json: how many assignments have how many chains");
  ring_command->add_flag("--json", ring->json, "for programs");
  ring_command->callback([&run, ring] { run = [=] { return analyze_ring(*ring); }; });

  auto anonymous = std::make_shared<AnalyzeAnonymousArguments>();
  CLI::App* anonymous_command = analyze_command->add_subcommand(
      "anonymous-ring", "how often candidates in step are all elected, exactly");
  anonymous_command->add_option("--stages", anonymous->stages, "k")->capture_default_str();
  anonymous_command->add_option("--candidates", anonymous->candidates, "that go in step")
      ->capture_default_str();
  anonymous_command->add_option("--stations", anonymous->stations,
                                "say how a phase of so many begins, too");
  anonymous_command->add_flag("--json", anonymous->json, "for programs");
  anonymous_command->callback(
      [&run, anonymous] { run = [=] { return analyze_anonymous_ring(*anonymous); }; });

  auto collision = std::make_shared<AnalyzeCollisionArguments>();
  CLI::App* collision_command = analyze_command->add_subcommand(
      "collision", "how often two of N election timers run out together, exactly");
  collision_command->add_option("--daemons", collision->daemons, "N")->capture_default_str();
  collision_command
      ->add_option("--window", collision->window, "within so much: 10ms, or seconds: 0.01, 1/100")
      ->required();
  collision_command->add_option("--width", collision->width, "of the interval they are drawn from")
      ->required();
  collision_command->add_flag("--json", collision->json, "for programs");
  collision_command->callback(
      [&run, collision] { run = [=] { return analyze_collision(*collision); }; });

  auto chain = std::make_shared<AnalyzeAlgorithmCArguments>();
  CLI::App* chain_command = analyze_command->add_subcommand(
      "algorithm-c", "rounds of the election by capacity C, exactly");
  chain_command->add_option("--loss", chain->loss, "probability of a message's loss: 3/10 or 0.3")
      ->capture_default_str();
  chain_command
      ->add_option("--candidates", chain->candidates, "at the beginning: a or a..b, up to 64")
      ->capture_default_str();
  chain_command->add_flag("--json", chain->json, "for programs");
  chain_command->callback([&run, chain] { run = [=] { return analyze_algorithm_c(*chain); }; });
}

}  // namespace tempo::cli
