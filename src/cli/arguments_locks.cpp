// The commands about locks, described for CLI11.
#include <memory>
#include <string>

#include "cli/arguments_topics.h"
#include "cli/locks/lock.h"

namespace tempo::cli {
namespace {

void describe_lock(CLI::App& command, LockArguments& arguments) {
  command.add_option("name", arguments.name, "name of the lock, 1 to 64 characters")->required();
  command.add_flag("--shared", arguments.shared,
                   "hold the lock together with others that take it --shared");
  command
      .add_option("--kind", arguments.kind,
                  "how the machines agree: lease (a majority), silent (nobody objects within a "
                  "bounded delay) or explicit (every voter replies); all users of a name must give "
                  "the same kind")
      ->capture_default_str();
  command.add_option("--wait", arguments.wait, "longest time to wait, e.g. 5s; default: no limit");
  command.add_flag("--no-wait", arguments.no_wait, "give up at once if the lock is held");
  command.add_option("--lease", arguments.lease,
                     "lease time, e.g. 10s. The command is stopped after this long without tempod "
                     "or network; others wait this long if this machine dies. Default: lease-ms in "
                     "tempo.toml(5)");
  describe_connection(command, arguments);
  command.add_flag("--json", arguments.json, "print state changes as JSON on standard error");
  command.add_option("command", arguments.command, "command and its arguments, after --")
      ->required();
  command.footer(
      help_end("  tempo lock backup -- pg_dump -f /srv/dump db\n"
               "  tempo lock --shared plan -- cat /srv/plan\n"
               "  tempo lock --wait 5s printer -- lp report.pdf || echo busy",
               "The environment of the command contains TEMPO_LOCK_NAME and, with --kind lease, "
               "TEMPO_LOCK_TOKEN.\nIf the lock is lost, tempo stops the command and its "
               "descendants before another machine can get\nthe lock."));
}

void describe_locks(CLI::App& command, LocksArguments& arguments) {
  auto* voters =
      command.add_flag("--voters", arguments.voters,
                       "list the voters, whether they are reachable, and how many may fail");
  auto* again = command.add_flag(
      "--bootstrap-again", arguments.bootstrap_again,
      "root only, on every voter, when most of them have lost their lock records: forget the "
      "voters and agree on new ones; refused while a lease may still be held");
  command
      .add_option("--above", arguments.above,
                  "with --bootstrap-again: new tokens are larger than this one and than those in "
                  "any record of this machine that can be read")
      ->needs(again);
  describe_daemon(command, arguments.daemon,
                  "  tempo locks\n"
                  "  tempo locks --voters\n"
                  "  tempo locks --json | jq -r '.data.locks[] | select(.here) | .name'\n"
                  "  sudo tempo locks --bootstrap-again --above 7696614948869");
  describe_host(command, arguments.daemon);
  again->excludes(voters)->excludes(command.get_option("--host"));
}

void describe_unlock(CLI::App& command, UnlockArguments& arguments) {
  arguments.daemon.timeout = "1min";  // a program may finish its work first
  command.add_option("name", arguments.name, "name of the lock")->required();
  describe_daemon(command, arguments.daemon, "  sudo tempo unlock backup");
}

void describe_replace(CLI::App& command, ReplaceArguments& arguments) {
  arguments.daemon.timeout = "10min";  // tempod itself gives up after a few leases
  command.add_option("old", arguments.dead, "name or id of the dead voter")->required();
  command
      .add_option("new", arguments.successor,
                  "name or id of the machine that votes in its place; it may have the same name")
      ->required();
  describe_daemon(command, arguments.daemon,
                  "  sudo tempo replace db3 db3\n  sudo tempo replace db3 db4");
}

void describe_fence_check(CLI::App& command, FenceCheckArguments& arguments) {
  command.add_option("file", arguments.file, "file that stores the newest token")->required();
  command.add_option("token", arguments.token, "token of the lock: $TEMPO_LOCK_TOKEN")->required();
  describe_json(command, arguments);
  command.footer(help_end(
      "  tempo fence-check /srv/data/token \"$TEMPO_LOCK_TOKEN\" && mv new /srv/data/current"));
}

void add_voter_command(CLI::App& app, std::function<int()>& run, const char* name, const char* help,
                       int (*change)(const VoterArguments&), const char* examples) {
  auto arguments = std::make_shared<VoterArguments>();
  arguments->daemon.timeout = "10min";  // tempod itself gives up after a few leases
  CLI::App* command = app.add_subcommand(name, help);
  command->add_option("host", arguments->host, "name or id of the machine")->required();
  describe_daemon(*command, arguments->daemon, examples);
  command->callback([&run, arguments, change] { run = [=] { return change(*arguments); }; });
}

void describe_expect(CLI::App& command, ExpectArguments& arguments) {
  arguments.daemon.timeout = "10min";  // tempod itself gives up earlier
  command
      .add_option("voters", arguments.voters,
                  "number of machines that vote on locks, usually 3 or 5")
      ->required()
      ->check(CLI::Range(std::size_t{1}, ipc::kMaxVoters));
  command.add_flag("--yes", arguments.yes, "do not ask");
  describe_daemon(command, arguments.daemon,
                  "  sudo tempo configure expect 3\n"
                  "  sudo tempo configure expect 5 --yes     # later, on any machine that votes");
}

void add_configure(CLI::App& app, std::function<int()>& run) {
  CLI::App* configure = app.add_subcommand("configure", "choose the machines that vote on locks");
  configure->require_subcommand(1);
  configure->footer(help_end("  sudo tempo configure expect 3"));
  add_command(*configure, run, "expect",
              "propose voters on locks, this machine and others that are up, and ask",
              describe_expect, configure_expect);
}

}  // namespace

void describe_lock_commands(CLI::App& app, std::function<int()>& run) {
  add_command(app, run, "lock", "run a command while holding a lock", describe_lock, lock);
  add_command(app, run, "locks", "list locks, their holders and waiters", describe_locks, locks);
  add_command(app, run, "unlock", "ask the holder on this machine to give a lock back",
              describe_unlock, unlock);
  add_voter_command(app, run, "forget", "remove a dead machine from the voters on locks", forget,
                    "  sudo tempo forget db3");
  add_voter_command(app, run, "admit", "make a machine a voter on locks", admit,
                    "  sudo tempo admit db4");
  add_command(app, run, "replace", "let a machine vote on locks in place of a dead one",
              describe_replace, replace);
  add_configure(app, run);
  add_command(app, run, "fence-check", "reject a token older than the newest one seen",
              describe_fence_check, fence_check);
}

}  // namespace tempo::cli
