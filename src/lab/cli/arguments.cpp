#include "lab/cli/arguments.h"

#include "cli/common/arguments_command.h"
#include "cli/common/command_line.h"
#include "lab/cli/arguments_topics.h"
#include "lab/cli/play.h"

namespace tempo::cli {
namespace {

void describe_play(CLI::App& command, PlayArguments& arguments) {
  command.add_option("--nodes", arguments.nodes, "number of nodes, 3 to 20")->capture_default_str();
  command.add_option("--seed", arguments.seed, "random seed")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--seconds", arguments.seconds, "duration of the animation, seconds")
      ->check(CLI::Range(0.0, 600.0))
      ->capture_default_str();
  command.add_flag("--plain", arguments.plain, "print lines instead of an animation");
  command.add_flag("--json", arguments.json, "print one JSON object per event");
  command.footer(
      "Exit status: 0 success, 1 the election did not end with one master, 2 bad usage,\n"
      "130 interrupted.\n\n"
      "Examples:\n"
      "  tempo-lab play\n"
      "  tempo-lab play --nodes 9 --seed 3 --plain");
}

void describe_play_command(CLI::App& app, std::function<int()>& run) {
  add_command(app, run, "play", "animate a small election in the terminal", describe_play, play);
}

}  // namespace

int run_lab_command_line(int argc, char** argv) {
  return run_program(
      {.name = "tempo-lab",
       .summary = "tempo-lab: simulate, model-check and analyse the protocols of tempo.",
       .commands = {describe_sim_commands, describe_check_commands, describe_analyze_commands,
                    describe_report_commands, describe_sweep_commands, describe_play_command},
       .topics = {{"Studies", {"sim", "check", "analyze"}},
                  {"Results", {"report", "sweep", "merge"}},
                  {"More", {"play", "completion"}}}},
      argc, argv);
}

}  // namespace tempo::cli
