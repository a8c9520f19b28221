// The commands of `tempo-lab analyze`, described for CLI11.
#include <memory>

#include "cli/common/arguments_command.h"
#include "lab/cli/analyze.h"
#include "lab/cli/arguments_topics.h"

namespace tempo::cli {

void describe_analyze_commands(CLI::App& app, std::function<int()>& run) {
  CLI::App* analyze_command =
      app.add_subcommand("analyze", "calculate exact probabilities and moments of elections");
  analyze_command->require_subcommand(1);

  auto ring = std::make_shared<AnalyzeRingArguments>();
  CLI::App* ring_command =
      analyze_command->add_subcommand("ring", "exact number of rounds of the equitable ring");
  ring_command->add_option("--stations", ring->stations, "number of stations, 1 to 512")
      ->capture_default_str();
  ring_command->add_option("--range", ring->range, "highest priority; priorities are 1 to RANGE")
      ->capture_default_str();
  ring_command->add_option("--rounds", ring->rounds, "number of rounds k, or a range a..b")
      ->capture_default_str();
  ring_command->add_option("--moments", ring->moments, "highest order of moments")
      ->capture_default_str();
  ring_command->add_flag("--chains", ring->chains,
                         "with --json: number of assignments by number of chains");
  describe_json(*ring_command, *ring);
  ring_command->footer(
      "Examples:\n"
      "  tempo-lab analyze ring --stations 64 --range 16\n"
      "  tempo-lab analyze ring --stations 3 --range 2 --rounds 1..4 --json");
  ring_command->callback([&run, ring] { run = [=] { return analyze_ring(*ring); }; });

  auto anonymous = std::make_shared<AnalyzeAnonymousArguments>();
  CLI::App* anonymous_command = analyze_command->add_subcommand(
      "anonymous-ring", "exact probability that candidates in step are all elected");
  anonymous_command->add_option("--stages", anonymous->stages, "number of stages k")
      ->capture_default_str();
  anonymous_command
      ->add_option("--candidates", anonymous->candidates, "number of candidates in step")
      ->capture_default_str();
  anonymous_command->add_option("--stations", anonymous->stations,
                                "also print how a phase of this many stations begins");
  describe_json(*anonymous_command, *anonymous);
  anonymous_command->footer(
      "Examples:\n  tempo-lab analyze anonymous-ring --stages 10 --stations 8");
  anonymous_command->callback(
      [&run, anonymous] { run = [=] { return analyze_anonymous_ring(*anonymous); }; });

  auto collision = std::make_shared<AnalyzeCollisionArguments>();
  CLI::App* collision_command = analyze_command->add_subcommand(
      "collision", "exact probability that two of N election timers expire together");
  collision_command->add_option("--daemons", collision->daemons, "number of daemons N")
      ->capture_default_str();
  collision_command
      ->add_option("--window", collision->window,
                   "largest distance of two timers: 10ms, or seconds: 0.01, 1/100")
      ->required();
  collision_command
      ->add_option("--width", collision->width, "width of the interval from which timers are drawn")
      ->required();
  describe_json(*collision_command, *collision);
  collision_command->footer(
      "Examples:\n  tempo-lab analyze collision --daemons 9 --window 10ms --width 2500ms");
  collision_command->callback(
      [&run, collision] { run = [=] { return analyze_collision(*collision); }; });

  auto chain = std::make_shared<AnalyzeAlgorithmCArguments>();
  CLI::App* chain_command = analyze_command->add_subcommand(
      "algorithm-c", "exact mean number of rounds of election algorithm C");
  chain_command->add_option("--loss", chain->loss, "probability of message loss: 3/10 or 0.3")
      ->capture_default_str();
  chain_command
      ->add_option("--candidates", chain->candidates,
                   "number of candidates at the start: a, or a range a..b, up to 64")
      ->capture_default_str();
  describe_json(*chain_command, *chain);
  chain_command->footer(
      "Examples:\n  tempo-lab analyze algorithm-c --loss 3/10 --candidates 1..20");
  chain_command->callback([&run, chain] { run = [=] { return analyze_algorithm_c(*chain); }; });
}

}  // namespace tempo::cli
