// The commands for operators, described for CLI11.
#include <memory>
#include <string>
#include <utility>

#include "cli/arguments_topics.h"
#include "cli/operations/adopt.h"
#include "cli/operations/classic.h"
#include "cli/operations/demo.h"
#include "cli/operations/doctor.h"
#include "cli/operations/invite.h"
#include "cli/operations/keygen.h"
#include "cli/operations/keys.h"
#include "cli/operations/master.h"
#include "cli/operations/requests.h"
#include "cli/operations/trace.h"

namespace tempo::cli {
namespace {

void describe_doctor(CLI::App& command, DoctorArguments& arguments) {
  describe_daemon(command, arguments.daemon,
                  "  sudo tempo doctor\n"
                  "  tempo doctor --all\n"
                  "  tempo doctor --json | jq '.data[] | select(.level == \"problem\")'");
  describe_host(command, arguments.daemon);
  command.add_option("--config", arguments.config, "configuration file of tempod")
      ->capture_default_str();
  command.add_flag("--all", arguments.all, "include the findings of all other members");
}

void describe_keygen(CLI::App& command, KeygenArguments& arguments) {
  command.add_option("file", arguments.file,
                     "file to write; - prints the key. Default: /etc/tempo/key, with --node "
                     "/etc/tempo/node-key");
  command.add_flag("--node", arguments.node,
                   "write a signing key for this machine only and print its public part");
  command.add_flag("--force", arguments.force,
                   "replace an existing file; take a step that cuts members off");
  command.add_flag("--add", arguments.add,
                   "change the key, first step: the new key opens datagrams; the old one seals");
  command.add_flag("--promote", arguments.promote,
                   "second step: the new key seals; the old one still opens");
  command.add_flag("--drop", arguments.drop, "last step: remove the old key");
  command.add_flag("--withdraw", arguments.withdraw,
                   "take --add back: remove the new key, which does not seal yet");
  command.add_option("--key", arguments.key,
                     "with --add: take the new key from the key file of another machine; - reads "
                     "it from standard input");
  describe_socket(command, arguments);
  describe_json(command, arguments);
  command.footer(
      help_end("  sudo tempo keygen\n"
               "  sudo tempo keygen --add       on one machine; then on the others:\n"
               "  sudo cat /etc/tempo/key | ssh other 'sudo tempo keygen --add --key -'\n"
               "  sudo tempo keygen --promote   on every machine\n"
               "  sudo tempo keygen --drop      on every machine\n"
               "  sudo tempo keygen --node | ssh other 'sudo tee -a /etc/tempo/node-list'",
               "Each step needs 'systemctl reload tempod'. Begin a step when all machines have\n"
               "taken the one before it; 'tempo keys' shows that."));
}

void describe_join(CLI::App& command, JoinArguments& arguments) {
  command.add_option("token", arguments.token, "token of 'tempo invite'; - reads standard input")
      ->required();
  command.add_option(
      "--peer", arguments.peers,
      "address of a member; default: the addresses in the token, and all networks of "
      "this machine; repeatable");
  command.add_option("--port", arguments.port, "UDP port of the members")->capture_default_str();
  command.add_option("--config", arguments.config, "configuration file; written unless it exists")
      ->capture_default_str();
  command.add_option("--key-file", arguments.key_file,
                     "key file to write; default: that of the configuration");
  command.add_option("--timeout", arguments.timeout, "longest wait for a member")
      ->capture_default_str();
  command.add_flag("--force", arguments.force, "replace an existing key file");
  describe_json(command, arguments);
  command.footer(help_end(
      "  sudo tempo join 5xk2-...\n"
      "  ssh member sudo tempo invite | sudo tempo join -\n"
      "  sudo tempo join --peer 192.0.2.7 5xk2-...",
      "The machine gets the name and the keys of the cluster. tempod need not run meanwhile."));
}

void describe_adopt(CLI::App& command, AdoptArguments& arguments) {
  command.add_flag("--check", arguments.check,
                   "only list other time daemons; exit status 1 if there are any");
  command.add_flag("--undo", arguments.undo,
                   "stop and disable tempod, and restore the other time daemons");
  command.add_flag("--yes", arguments.yes, "do not ask");
  command
      .add_option("--state-dir", arguments.state_dir,
                  "state directory of tempod, which keeps what was changed")
      ->capture_default_str();
  describe_json(command, arguments);
  command.footer(help_end(
      "  sudo tempo adopt\n"
      "  sudo tempo adopt --undo\n"
      "  tempo adopt --check",
      "It stops and masks the services chrony, ntpsec, openntpd, systemd-timesyncd and ntpd-rs, "
      "as far as\nthey run or are enabled, and starts tempod. It asks before it changes "
      "anything."));
}

void add_trace(CLI::App& app, std::function<int()>& run) {
  CLI::App* trace = app.add_subcommand(
      "trace", "log every message and state change in the simulator's trace format");
  trace->require_subcommand(1);
  const std::string examples =
      "  sudo tempo trace on\n"
      "  tempo trace follow > today.trace";
  trace->footer(help_end(examples));
  add_daemon_command(
      *trace, run, "on", "start the trace",
      [](const DaemonArguments& arguments) { return trace_switch(arguments, true); }, examples);
  add_daemon_command(
      *trace, run, "off", "stop the trace",
      [](const DaemonArguments& arguments) { return trace_switch(arguments, false); }, examples);
  add_daemon_command(*trace, run, "follow", "print the trace as it grows", trace_follow, examples);
}

constexpr const char* kClassicExamples =
    "  tempo classic msite 192.0.2.7\n"
    "  sudo tempo classic clockdiff old1 old2\n"
    "  sudo tempo classic election old1";

void describe_classic(CLI::App& command, ClassicArguments& arguments) {
  command.add_option("hosts", arguments.hosts, "names or IPv4 addresses of hosts")->required();
  command.add_option("--port", arguments.port, "UDP port of the time daemons")
      ->capture_default_str();
  command.add_option("--timeout", arguments.timeout, "longest wait for the answer of a host")
      ->capture_default_str();
  describe_json(command, arguments);
  command.footer(help_end(kClassicExamples,
                          "The hosts may run tempod in classic mode or another daemon that speaks "
                          "TSP version 1.\nSome of those answer only root, because they look at "
                          "the port of the sender."));
}

// The commands of timedc.
void add_classic(CLI::App& app, std::function<int()>& run) {
  CLI::App* classic = app.add_subcommand(
      "classic", "control time daemons that speak TSP version 1, as timedc does");
  classic->require_subcommand(1);
  classic->footer(help_end(kClassicExamples));
  add_command(*classic, run, "msite", "show which master these hosts follow", describe_classic,
              classic_msite);
  add_command(*classic, run, "clockdiff",
              "measure the clocks of these hosts with ICMP timestamps; needs root",
              describe_classic, classic_clockdiff);
  add_command(*classic, run, "election", "make these hosts call an election (Test)",
              describe_classic, classic_election);
  add_command(*classic, run, "trace-on", "make these hosts log their packets", describe_classic,
              classic_trace_on);
  add_command(*classic, run, "trace-off", "end that", describe_classic, classic_trace_off);
}

void describe_demo(CLI::App& command, DemoArguments& arguments) {
  command.add_option("--machines", arguments.machines, "number of daemons, 3 to 9")
      ->capture_default_str();
  command.add_option("--seconds", arguments.seconds, "demo duration; default: 24, with --web 3600")
      ->check(CLI::Range(5.0, 3600.0));
  command.add_option("--profile", arguments.profile, "timer profile: lan or fast")
      ->capture_default_str();
  command.add_option("--port", arguments.port, "UDP port on the loopback network")
      ->capture_default_str();
  command.add_option("--tempod", arguments.tempod,
                     "daemon to run; default: the tempod installed with this program");
  command.add_flag("--plain", arguments.plain,
                   "print lines instead of a full screen; the default if standard output is not a "
                   "terminal");
  command.add_flag("--web", arguments.web, "serve the page of tempo-web, and print its address");
  command.add_flag("--json", arguments.json, "print a summary as JSON");
  command.footer(
      help_end("  tempo demo\n"
               "  tempo demo --seconds 20 --plain\n"
               "  tempo demo --web\n"
               "  tempo demo --profile fast --machines 9",
               "The daemons are ordinary processes on 127.0.0.0/8 with software clocks. "
               "The demo does not change the\nclock of the machine and leaves no process "
               "running."));
}

}  // namespace

void describe_operations_commands(CLI::App& app, std::function<int()>& run) {
  add_command(app, run, "doctor", "find problems on this machine and suggest cures",
              describe_doctor, doctor);
  add_daemon_command(app, run, "master", "show the master of each network", master,
                     "  tempo master\n"
                     "  tempo master --json | jq -r '.data[0].master'");
  add_daemon_command(app, run, "reelect", "make the master step down; the members elect a new one",
                     reelect, "  sudo tempo reelect");
  add_command(app, run, "keygen", "write a key file for the cluster, mode 0600", describe_keygen,
              keygen);
  add_daemon_command(app, run, "keys",
                     "show the keys of all members and the next step of a key change", keys,
                     "  tempo keys\n"
                     "  until tempo keys; do sleep 1; done; sudo tempo keygen --promote");
  add_daemon_command(app, run, "invite",
                     "print a token with which one new machine can join, within ten minutes",
                     invite,
                     "  sudo tempo invite\n"
                     "  sudo tempo invite | ssh newcomer sudo tempo join -");
  add_command(app, run, "join", "join a cluster with a token of one of its members", describe_join,
              join);
  add_command(app, run, "adopt", "switch from another time daemon to tempod, or back",
              describe_adopt, adopt);
  add_trace(app, run);
  add_classic(app, run);
  add_command(app, run, "demo", "run a small cluster on this machine and kill its master",
              describe_demo, demo);
}

}  // namespace tempo::cli
