// The commands about groups, described for CLI11.
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/arguments_topics.h"
#include "cli/common/arguments_command.h"
#include "cli/groups/elect.h"

namespace tempo::cli {
namespace {

constexpr const char* kElectExits =
    "Exit status: the command's own when it ends by itself, 128 and the number of the signal that\n"
    "ended it; 0 with --once where another has done the job; 102 no tempod, 103 tempod said no,\n"
    "126 and 127 the command cannot be run or found, 2 bad usage.\n\n";

void describe_elect(CLI::App& app, std::function<int()>& run) {
  auto arguments = std::make_shared<ElectArguments>();
  CLI::App* command =
      app.add_subcommand("elect", "run a command on the elected machine of a group only");
  command->add_option("group", arguments->group, "its name, 1 to 57 characters")->required();
  command->add_option("--criterion", arguments->criterion,
                      "load, free-memory, uptime, clock-quality, id, random, weight=N, "
                      "cmd=COMMAND; if left out, load, on a ring random");
  command->add_option("--algorithm", arguments->algorithm, "a, b1, b2, c, ring or ring-anonymous")
      ->capture_default_str();
  command
      ->add_option("--min-stay", arguments->min_stay,
                   "nobody is unseated by a better one sooner, for example 30s")
      ->capture_default_str();
  command->add_flag("--once", arguments->once, "for one job: over when one machine has done it");
  describe_connection(*command, *arguments);
  command->add_option("command", arguments->command, "after --, with its words")->required();
  command->footer(std::string(kElectExits) +
                  "The command finds TEMPO_LEADER_TOKEN and TEMPO_GROUP in its environment. It is "
                  "stopped (TERM, then\nKILL, its whole process group) when another machine is to "
                  "lead, and before another can.\n\n"
                  "Examples:\n"
                  "  tempo elect web --criterion free-memory -- nginx -g 'daemon off;'\n"
                  "  tempo elect primary --criterion weight=5 --min-stay 5m -- ./serve\n"
                  "  tempo elect --once nightly -- ./backup        on all machines, by cron");
  command->callback([&run, arguments] { run = [=] { return elect(*arguments); }; });
}

void describe_one(CLI::App& app, std::function<int()>& run, const char* name, const char* help,
                  const char* examples, int (*todo)(const GroupArguments&)) {
  auto arguments = std::make_shared<GroupArguments>();
  CLI::App* command = app.add_subcommand(name, help);
  command->add_option("group", arguments->group, "its name")->required();
  describe_connection(*command, arguments->daemon);
  command->add_flag("--json", arguments->daemon.json, "for programs");
  command->footer(std::string("Examples:\n") + examples);
  command->callback([&run, arguments, todo] { run = [=] { return todo(*arguments); }; });
}

void describe_groups(CLI::App& app, std::function<int()>& run) {
  auto arguments = std::make_shared<DaemonArguments>();
  CLI::App* command =
      app.add_subcommand("groups", "groups that are known here, who leads them, and who would");
  describe_connection(*command, *arguments);
  command->add_flag("--json", arguments->json, "for programs");
  command->footer(
      "Examples:\n"
      "  tempo groups\n"
      "  tempo groups --json | jq -r '.groups[] | select(.here) | .name'");
  command->callback([&run, arguments] { run = [=] { return groups(*arguments); }; });
}

}  // namespace

void describe_group_commands(CLI::App& app, std::function<int()>& run) {
  describe_elect(app, run);
  describe_one(app, run, "leader", "who leads a group; status 1 while nobody does",
               "  tempo leader web\n  ssh $(tempo leader web)", leader);
  describe_groups(app, run);
  describe_one(app, run, "watch-group", "who leads a group, whenever that changes",
               "  tempo watch-group web\n  tempo watch-group web --json | jq -r .group.leader",
               watch_group);
  describe_one(app, run, "resign-group", "make this machine's leader of a group make room",
               "  tempo resign-group web", resign_group);
}

}  // namespace tempo::cli
