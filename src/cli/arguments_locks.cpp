// The commands about locks, described for CLI11.
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/arguments_topics.h"
#include "cli/common/arguments_command.h"
#include "cli/locks/lock.h"

namespace tempo::cli {
namespace {

constexpr const char* kLockExits =
    "Exit status: the command's own, 128 and the number of the signal that ended it; 100 the lock\n"
    "was not to be had in time, 101 it could not be kept and the command was stopped or not\n"
    "started, 102 no tempod, 103 tempod said no, 126 and 127 the command cannot be run or found,\n"
    "2 bad usage.\n\n";

void describe_lock(CLI::App& app, std::function<int()>& run) {
  auto arguments = std::make_shared<LockArguments>();
  CLI::App* command =
      app.add_subcommand("lock", "run a command while nobody else on the network holds the lock");
  command->add_option("name", arguments->name, "the lock's, 1 to 64 characters")->required();
  command->add_flag("--shared", arguments->shared, "together with others that take it shared");
  command
      ->add_option("--kind", arguments->kind,
                   "how it is agreed on: lease by a majority, silent by nobody's objection while "
                   "delays are known, explicit by a reply from each; the same for all who use it")
      ->capture_default_str();
  command->add_option("--wait", arguments->wait, "how long to wait for it, for example 5s");
  command->add_flag("--no-wait", arguments->no_wait, "only if it can be had at once");
  command
      ->add_option("--lease", arguments->lease,
                   "how long its lease is, for example 10s: so long at most the command goes on "
                   "without tempod or the network, and others wait for a machine that dies")
      ->default_str("the network's");
  describe_connection(*command, *arguments);
  command->add_option("command", arguments->command, "after --, with its words")->required();
  command->footer(std::string(kLockExits) +
                  "The command finds TEMPO_LOCK_NAME and, of a lease, TEMPO_LOCK_TOKEN in its "
                  "environment. If the\nlock cannot be kept, its whole process group is stopped "
                  "before anybody else can have the lock.\n\n"
                  "Examples:\n"
                  "  tempo lock backup -- pg_dump -f /srv/dump db\n"
                  "  tempo lock --shared plan -- cat /srv/plan\n"
                  "  tempo lock --wait 5s printer -- lp report.pdf || echo busy");
  command->callback([&run, arguments] { run = [=] { return lock(*arguments); }; });
}

void describe_fence_check(CLI::App& app, std::function<int()>& run) {
  auto arguments = std::make_shared<FenceCheckArguments>();
  CLI::App* command = app.add_subcommand(
      "fence-check", "refuse a token that is older than the newest seen, for scripts");
  command->add_option("file", arguments->file, "where the newest token is kept")->required();
  command->add_option("token", arguments->token, "of the lock: $TEMPO_LOCK_TOKEN")->required();
  command->footer(
      "Exit status: 0 it is the newest, and kept; 1 it is older; 2 the file cannot be used.\n\n"
      "Examples:\n"
      "  tempo fence-check /srv/data/token \"$TEMPO_LOCK_TOKEN\" && mv new /srv/data/current");
  command->callback([&run, arguments] { run = [=] { return fence_check(*arguments); }; });
}

void describe_voters(CLI::App& app, std::function<int()>& run, const char* name, const char* help,
                     int (*change)(const VoterArguments&), const char* examples) {
  auto arguments = std::make_shared<VoterArguments>();
  arguments->daemon.timeout = "10min";  // tempod gives up by itself, in some leases
  CLI::App* command = app.add_subcommand(name, help);
  command->add_option("host", arguments->host, "the machine's name, or its id")->required();
  describe_connection(*command, arguments->daemon);
  command->add_flag("--json", arguments->daemon.json, "for programs");
  command->footer(
      std::string("Exit status: 0 done, 2 bad usage, 3 tempod cannot be reached, 4 it "
                  "refuses, or no majority of\nthose that vote answers.\n\nExamples:\n") +
      examples);
  command->callback([&run, arguments, change] { run = [=] { return change(*arguments); }; });
}

}  // namespace

void describe_lock_commands(CLI::App& app, std::function<int()>& run) {
  describe_lock(app, run);
  describe_voters(app, run, "forget", "take away the vote on locks of a machine that is gone",
                  forget, "  sudo tempo forget db3");
  describe_voters(app, run, "admit", "give a machine a vote on locks", admit,
                  "  sudo tempo admit db4");
  describe_fence_check(app, run);
}

}  // namespace tempo::cli
