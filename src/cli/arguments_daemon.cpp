// The commands that talk to tempod, described for CLI11.
#include <memory>
#include <string>

#include "cli/arguments_topics.h"
#include "cli/common/arguments_command.h"
#include "cli/locks/lock.h"
#include "cli/operations/doctor.h"
#include "cli/operations/keygen.h"
#include "cli/operations/master.h"
#include "cli/operations/orders.h"
#include "cli/operations/trace.h"
#include "cli/time/clockdiff.h"
#include "cli/time/members.h"
#include "cli/time/now.h"
#include "cli/time/set_time.h"
#include "cli/time/status.h"
#include "cli/time/wait_sync.h"
#include "cli/time/watch.h"

namespace tempo::cli {
namespace {

constexpr const char* kDaemonStatuses =
    "Exit status: 0 done, 1 what was asked about does not hold, 2 bad usage, 3 tempod cannot be\n"
    "reached, 4 tempod refuses, 130 interrupted.";

void describe_daemon(CLI::App& command, DaemonArguments& arguments, const std::string& examples,
                     bool has_timeout_of_its_own = false) {
  if (has_timeout_of_its_own)
    describe_socket(command, arguments);
  else
    describe_connection(command, arguments);
  command.add_flag("--json", arguments.json, "print JSON");
  command.footer(std::string(kDaemonStatuses) + "\n\nExamples:\n" + examples);
}

void describe_keygen(CLI::App& command, KeygenArguments& arguments) {
  command.add_option("file", arguments.file,
                     "where to, /etc/tempo/key if left out, with --node /etc/tempo/node-key; - "
                     "prints it");
  command.add_flag("--node", arguments.node,
                   "a signing key for this machine alone; its public part is printed");
  command.add_flag("--force", arguments.force, "replace the file that is there");
  command.add_flag("--add", arguments.add,
                   "change keys: the new one comes first, the old one stays valid");
  command.add_flag("--json", arguments.json, "for programs");
  command.footer(
      "Exit status: 0 written, 2 nothing was written.\n\n"
      "Examples:\n"
      "  sudo tempo keygen\n"
      "  sudo tempo keygen --add       then copy the file everywhere and reload tempod\n"
      "  sudo tempo keygen --node | ssh other 'sudo tee -a /etc/tempo/node-list'");
}

}  // namespace

// Gives every command that talks to tempod its options; what it does goes into `run`.
void describe_daemon_commands(CLI::App& app, std::function<int()>& run) {
  const auto simple = [&](const char* name, const char* help,
                          int (*command)(const DaemonArguments&), const std::string& examples) {
    auto arguments = std::make_shared<DaemonArguments>();
    CLI::App* described = app.add_subcommand(name, help);
    describe_daemon(*described, *arguments, examples);
    described->callback([&run, arguments, command] { run = [=] { return command(*arguments); }; });
  };

  auto status_arguments = std::make_shared<StatusArguments>();
  CLI::App* status_command =
      app.add_subcommand("status", "this machine's clock, role and networks, as tempod knows them");
  describe_daemon(*status_command, status_arguments->daemon,
                  "  tempo status\n"
                  "  tempo status --json | jq .status\n"
                  "  tempo status --metrics > /var/lib/node_exporter/tempo.prom");
  status_command->add_flag("--metrics", status_arguments->metrics, "in Prometheus text format");
  status_command->callback(
      [&run, status_arguments] { run = [=] { return status(*status_arguments); }; });

  simple("members", "every machine of the network: role, clock, when it was heard", members,
         "  tempo members\n"
         "  tempo members --json | jq -r '.[] | select(.faulty) | .name'");
  simple("master", "who leads, on each network; status 1 while nobody does", master,
         "  tempo master\n"
         "  tempo master --json | jq -r '.[0].master'");
  simple("locks", "who holds and who waits for which lock, and what is promised", locks,
         "  tempo locks\n"
         "  tempo locks --json | jq -r '.locks[] | select(.here) | .name'");
  simple("now", "the network's time with its earliest and latest; status 1 without one", now,
         "  tempo now\n"
         "  tempo now --json | jq .latest_ns");

  auto watch_arguments = std::make_shared<WatchArguments>();
  CLI::App* watch_command =
      app.add_subcommand("watch", "members, clocks, roles and events while they change");
  describe_daemon(*watch_command, watch_arguments->daemon,
                  "  tempo watch                 the whole screen; q quits\n"
                  "  tempo watch --lines 10      ten lines\n"
                  "  tempo watch --json | jq -c .event");
  watch_command->add_flag("--plain", watch_arguments->plain,
                          "lines instead of the whole screen; always so when not on a terminal");
  watch_command->add_option("--lines", watch_arguments->lines, "end after so many lines")
      ->check(CLI::NonNegativeNumber);
  watch_command->callback(
      [&run, watch_arguments] { run = [=] { return watch(*watch_arguments); }; });

  simple("reelect", "have the network elect a master anew", reelect, "  sudo tempo reelect");
  simple("resign", "make this machine give its mastership away", resign, "  sudo tempo resign");

  auto set_arguments = std::make_shared<SetTimeArguments>();
  CLI::App* set_command =
      app.add_subcommand("set-time", "set the time of a network that has no better source");
  describe_daemon(*set_command, set_arguments->daemon,
                  "  sudo tempo set-time --to \"2026-11-16 04:38:02\"\n"
                  "  sudo tempo set-time --by -250ms");
  set_command->add_option("--by", set_arguments->by, "move it: 1.5s, -250ms");
  set_command->add_option("--to", set_arguments->to,
                          "UTC as \"2026-11-16 04:38:02\", or @ and seconds since 1970");
  set_command->callback([&run, set_arguments] { run = [=] { return set_time(*set_arguments); }; });

  auto wait_arguments = std::make_shared<WaitSyncArguments>();
  CLI::App* wait_command = app.add_subcommand(
      "wait-sync",
      "wait until this machine has the network's time; status 1 if it does not get it");
  describe_daemon(*wait_command, wait_arguments->daemon,
                  "  tempo wait-sync --timeout 2min --within 500us && start-the-recorder",
                  /*has_timeout_of_its_own=*/true);
  wait_command->add_option("--timeout", wait_arguments->timeout, "then give up")
      ->capture_default_str();
  wait_command->add_option("--within", wait_arguments->within, "the bound of the error to wait for")
      ->capture_default_str();
  wait_command->callback(
      [&run, wait_arguments] { run = [=] { return wait_sync(*wait_arguments); }; });

  CLI::App* trace_command = app.add_subcommand(
      "trace", "every message and state of this tempod, in the simulator's form");
  trace_command->require_subcommand(1);
  const auto traced = [&](const char* name, const char* help,
                          std::function<int(const DaemonArguments&)> command) {
    auto arguments = std::make_shared<DaemonArguments>();
    CLI::App* described = trace_command->add_subcommand(name, help);
    describe_daemon(*described, *arguments,
                    "  sudo tempo trace on\n"
                    "  tempo trace follow > today.trace");
    described->callback([&run, arguments, command = std::move(command)] {
      run = [=] { return command(*arguments); };
    });
  };
  traced("on", "begin",
         [](const DaemonArguments& arguments) { return trace_switch(arguments, true); });
  traced("off", "end",
         [](const DaemonArguments& arguments) { return trace_switch(arguments, false); });
  traced("follow", "print it while it grows", trace_follow);

  auto diff_arguments = std::make_shared<ClockdiffArguments>();
  CLI::App* diff_command = app.add_subcommand(
      "clockdiff", "how far the clocks of some members are off, as far as it is known here");
  describe_daemon(*diff_command, diff_arguments->daemon,
                  "  tempo clockdiff stern mast\n"
                  "  tempo clockdiff --json 192.0.2.7");
  diff_command->add_option("host", diff_arguments->hosts, "names, addresses or ids of members")
      ->required();
  diff_command->callback(
      [&run, diff_arguments] { run = [=] { return clockdiff(*diff_arguments); }; });

  auto doctor_arguments = std::make_shared<DoctorArguments>();
  CLI::App* doctor_command = app.add_subcommand(
      "doctor", "look for what keeps clocks from agreeing here; status 1 if something does");
  describe_daemon(*doctor_command, doctor_arguments->daemon,
                  "  sudo tempo doctor\n"
                  "  tempo doctor --all\n"
                  "  tempo doctor --json | jq '.[] | select(.level == \"problem\")'");
  doctor_command->add_option("--config", doctor_arguments->config, "tempod's configuration")
      ->capture_default_str();
  doctor_command->add_flag("--all", doctor_arguments->all,
                           "what the tempods of all other members find, too");
  doctor_command->callback(
      [&run, doctor_arguments] { run = [=] { return doctor(*doctor_arguments); }; });

  add_command(app, run, "keygen", "write a key for the cluster, mode 0600", describe_keygen,
              keygen);
}

}  // namespace tempo::cli
