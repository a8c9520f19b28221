// The commands about groups, described for CLI11.
#include <memory>
#include <string>

#include "cli/arguments_topics.h"
#include "cli/groups/elect.h"

namespace tempo::cli {
namespace {

void describe_elect(CLI::App& command, ElectArguments& arguments) {
  command.add_option("group", arguments.group, "name of the group, 1 to 57 characters")->required();
  command.add_option("--criterion", arguments.criterion,
                     "property that makes a candidate better: load, free-memory, uptime, "
                     "clock-quality, id, random, weight=N or cmd=COMMAND (prints a number; the "
                     "largest wins). Default: load; for the ring algorithms random");
  command.add_option("--algorithm", arguments.algorithm, "a, b1, b2, c, ring or ring-anonymous")
      ->capture_default_str();
  command
      .add_option(
          "--min-stay", arguments.min_stay,
          "a leader keeps its role at least this long before a better candidate may replace it")
      ->capture_default_str();
  command.add_flag("--once", arguments.once,
                   "run the command once on one machine of the group, then stop on all");
  describe_connection(command, arguments);
  command.add_flag("--json", arguments.json, "print state changes as JSON on standard error");
  command.add_option("command", arguments.command, "command and its arguments, after --")
      ->required();
  command.footer(help_end(
      "  tempo elect web --criterion free-memory -- nginx -g 'daemon off;'\n"
      "  tempo elect primary --criterion weight=5 --min-stay 5min -- ./serve\n"
      "  tempo elect --once nightly -- ./backup        on all machines, by cron",
      "The environment of the command contains TEMPO_LEADER_TOKEN and TEMPO_GROUP. tempo stops it "
      "and\nits descendants (TERM, then KILL) before another machine can lead."));
}

void add_group_command(CLI::App& app, std::function<int()>& run, const char* name, const char* help,
                       int (*todo)(const GroupArguments&), const char* examples) {
  auto arguments = std::make_shared<GroupArguments>();
  CLI::App* command = app.add_subcommand(name, help);
  command->add_option("group", arguments->group, "name of the group")->required();
  describe_daemon(*command, arguments->daemon, examples);
  command->callback([&run, arguments, todo] { run = [=] { return todo(*arguments); }; });
}

}  // namespace

void describe_group_commands(CLI::App& app, std::function<int()>& run) {
  add_command(app, run, "elect", "run a command on the elected leader of a group", describe_elect,
              elect);
  add_group_command(app, run, "leader", "show the leader of a group", leader,
                    "  tempo leader web\n  ssh $(tempo leader web)");
  add_daemon_command(app, run, "groups", "list groups, their leaders and candidates", groups,
                     "  tempo groups\n"
                     "  tempo groups --json | jq -r '.data.groups[] | select(.here) | .name'");
  add_group_command(app, run, "watch-group", "print the leader of a group whenever it changes",
                    watch_group,
                    "  tempo watch-group web\n"
                    "  tempo watch-group web --json | jq -r .data.group.leader");
  add_group_command(app, run, "resign-group", "step down as leader of a group", resign_group,
                    "  tempo resign-group web");
}

}  // namespace tempo::cli
