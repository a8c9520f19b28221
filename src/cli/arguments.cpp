#include "cli/arguments.h"

#include <functional>
#include <sstream>
#include <string>

#include "cli/arguments_command.h"
#include "cli/arguments_topics.h"
#include "cli/demo.h"
#include "cli/exit_codes.h"
#include "cli/play.h"
#include "cli/speech.h"
#include "tempo_version.h"

namespace tempo::cli {
namespace {

void describe_demo(CLI::App& command, DemoArguments& arguments) {
  command.add_option("--machines", arguments.machines, "3 to 9 daemons")->capture_default_str();
  command.add_option("--seconds", arguments.seconds, "how long the show takes")
      ->check(CLI::Range(5.0, 600.0))
      ->capture_default_str();
  command.add_option("--profile", arguments.profile, "timers: lan or fast")->capture_default_str();
  command.add_option("--port", arguments.port, "UDP port on the loopback network")
      ->capture_default_str();
  command.add_option("--tempod", arguments.tempod, "the daemon; by default the one beside tempo");
  command.add_flag("--plain", arguments.plain, "lines instead of a moving picture");
  command.add_flag("--json", arguments.json, "only the summary, for programs");
  command.footer(
      "Ordinary processes on 127.0.0.0/8 with software clocks; nothing of the machine is touched\n"
      "and nothing is left running. The last line is a summary.\n\n"
      "Exit status: 0 it went as it should, 1 it did not, 2 bad usage, 130 interrupted.\n\n"
      "Examples:\n"
      "  tempo demo\n"
      "  tempo demo --seconds 20 --plain\n"
      "  tempo demo --profile fast --machines 9");
}

void describe_play(CLI::App& command, PlayArguments& arguments) {
  command.add_option("--nodes", arguments.nodes, "3 to 20 machines")->capture_default_str();
  command.add_option("--seed", arguments.seed, "another seed, another story")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--seconds", arguments.seconds, "how long the show takes on a terminal")
      ->check(CLI::Range(0.0, 600.0))
      ->capture_default_str();
  command.add_flag("--plain", arguments.plain, "lines instead of a moving picture");
}

}  // namespace

int run_command_line(int count, char** words) {
  CLI::App app(
      "tempo: one time, one leader, one lock, for a network of machines with no server to set up.",
      "tempo");
  app.set_version_flag("--version", std::string("tempo ") + kTempoVersion);
  app.require_subcommand(1);
  app.footer("tempo COMMAND --help says more about each.");

  std::function<int()> run;
  add_command(app, run, "demo", "real daemons on this machine: they agree, lose a master, go on",
              describe_demo, demo);
  add_command(app, run, "play", "watch a small election in the terminal", describe_play, play);
  describe_sim_commands(app, run);
  describe_check_commands(app, run);
  describe_daemon_commands(app, run);
  describe_lock_commands(app, run);
  describe_group_commands(app, run);
  describe_analyze_commands(app, run);
  describe_report_commands(app, run);
  describe_sweep_commands(app, run);

  try {
    app.parse(count, words);
  } catch (const CLI::ParseError& stop) {
    // Help and version end well; anything else is a question we cannot answer.
    std::ostringstream out;
    std::ostringstream error;
    const int status = app.exit(stop, out, error) == 0 ? kDone : kBadUsage;
    say_text(out.str());
    complain_text(error.str());
    return status;
  }
  return run();
}

}  // namespace tempo::cli
