#include "cli/arguments.h"

#include <CLI/CLI.hpp>

#include "cli/exit_codes.h"
#include "cli/play.h"
#include "cli/sim_election.h"
#include "lab/sim/election/scenario.h"
#include "tempo_version.h"

namespace tempo::cli {
namespace {

std::string scenario_list() {
  std::string list;
  for (const std::string_view name : sim::election::scenario_names())
    list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

void describe_sim_election(CLI::App& command, SimElectionArguments& arguments) {
  command
      .add_option("--nodes", arguments.nodes,
                  "how many machines, all counted; a master's crash leaves one less")
      ->capture_default_str();
  command.add_option("--scenario", arguments.scenario, scenario_list())->capture_default_str();
  command.add_option("--profile", arguments.profile, "timers: classic (4.3BSD's), lan, fast")
      ->capture_default_str();
  command.add_option("--election-timer", arguments.election_timer,
                     "a slave's patience, drawn from a..b, instead of the profile's");
  command.add_option(
      "--repeats", arguments.repeats,
      "extra sends of Masterreq and Election, 0 to 4; 0 gives the paper's counts [4]");
  command.add_option("--loss", arguments.loss, "probability that a message is lost")
      ->capture_default_str();
  command.add_option("--duplicate", arguments.duplicate, "probability that it arrives twice")
      ->capture_default_str();
  command
      .add_option("--reorder", arguments.reorder,
                  "probability that it is held back, for up to four mean delays")
      ->capture_default_str();
  command
      .add_option("--delay", arguments.delay,
                  "100us, uniform:a..b, exp:mean, normal:mean,sd, pareto:min,alpha; + adds")
      ->capture_default_str();
  command.add_option("--seed", arguments.seed, "decides everything; run k of many has seed + k")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--runs", arguments.runs, "how many runs; statistics instead of one story")
      ->capture_default_str();
  command
      .add_option("--threads", arguments.threads,
                  "0: one for each core; results do not depend on it")
      ->capture_default_str();
  command.add_option("--until", arguments.until,
                     "simulated time by which there must be one master, for example 60s");
  command
      .add_option(
          "--variant", arguments.variant,
          "corrected, as-printed, or any of refuse-duplicate,no-loop,no-epoch,conflict-kills-both")
      ->capture_default_str();
  command.add_flag("--trace", arguments.trace, "print every message and state of one run");
  command.add_option("--diagram", arguments.diagram,
                     "space-time diagram of one run: an HTML file, or - for the terminal");
  command.add_option("--script", arguments.script,
                     "write the run as a script test; one that breaks a promise is shrunk first");
  command.add_flag("--baselines", arguments.baselines,
                   "beside it, what LeLann's and the bully election cost among as many");
  command.add_flag("--json", arguments.json, "for programs");
  command.footer(
      "Exit status: 0 done, 1 a promise was broken (a line to replay it is printed), 2 bad usage,\n"
      "130 interrupted.\n\n"
      "Examples:\n"
      "  tempo sim election --nodes 21 --scenario master-crash --repeats 0\n"
      "  tempo sim election --nodes 7 --scenario churn --loss 0.1 --duplicate 0.05 --runs 10000\n"
      "  tempo sim election --nodes 5 --scenario two-candidates --diagram election.html\n"
      "  tempo sim election --nodes 11 --scenario collision --election-timer 60s..120s --delay 1s "
      "--runs 10000");
}

}  // namespace

int run_command_line(int count, char** words) {
  CLI::App app(
      "tempo: one time, one leader, one lock, for a network of machines with no server to set up.",
      "tempo");
  app.set_version_flag("--version", std::string("tempo ") + kTempoVersion);
  app.require_subcommand(1);
  app.footer("tempo COMMAND --help says more about each.");

  PlayArguments play_arguments;
  CLI::App* play_command = app.add_subcommand("play", "watch a small election in the terminal");
  play_command->add_option("--nodes", play_arguments.nodes, "3 to 20 machines")
      ->capture_default_str();
  play_command->add_option("--seed", play_arguments.seed, "another seed, another story")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  play_command
      ->add_option("--seconds", play_arguments.seconds, "how long the show takes on a terminal")
      ->check(CLI::Range(0.0, 600.0))
      ->capture_default_str();
  play_command->add_flag("--plain", play_arguments.plain, "lines instead of a moving picture");

  SimElectionArguments election_arguments;
  CLI::App* sim_command = app.add_subcommand("sim", "run protocols in a simulated network");
  sim_command->require_subcommand(1);
  CLI::App* election_command =
      sim_command->add_subcommand("election", "the election of a master, once or many times");
  describe_sim_election(*election_command, election_arguments);

  try {
    app.parse(count, words);
  } catch (const CLI::ParseError& stop) {
    // Help and version end well; anything else is a question we cannot answer.
    return app.exit(stop) == 0 ? kDone : kBadUsage;
  }
  if (play_command->parsed()) return play(play_arguments);
  return sim_election(election_arguments);
}

}  // namespace tempo::cli
