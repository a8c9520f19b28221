#include "cli/arguments.h"

#include "cli/arguments_topics.h"
#include "cli/common/arguments_command.h"
#include "cli/common/command_line.h"
#include "cli/forward.h"
#include "cli/operations/demo.h"

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

void describe_demo_command(CLI::App& app, std::function<int()>& run) {
  add_command(app, run, "demo", "real daemons on this machine: they agree, lose a master, go on",
              describe_demo, demo);
}

}  // namespace

int run_command_line(int count, char** words) {
  if (count > 1 && belongs_to_lab(words[1])) return forward_to_lab(words);
  return run_program(
      {.name = "tempo",
       .summary = "tempo: one time, one leader, one lock, for a network of machines with no server "
                  "to set up.",
       .commands = {describe_daemon_commands, describe_lock_commands, describe_group_commands,
                    describe_demo_command},
       .topics =
           {{"Time", {"status", "now", "members", "watch", "wait-sync", "set-time", "clockdiff"}},
            {"Locks", {"lock", "locks", "forget", "admit", "fence-check"}},
            {"Groups", {"elect", "leader", "groups", "watch-group", "resign-group"}},
            {"Operations",
             {"doctor", "master", "reelect", "resign", "keygen", "trace", "demo", "completion"}}}},
      count, words);
}

}  // namespace tempo::cli
