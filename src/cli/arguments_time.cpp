// The commands about time, described for CLI11.
#include <memory>
#include <string>

#include "cli/arguments_topics.h"
#include "cli/time/clockdiff.h"
#include "cli/time/members.h"
#include "cli/time/now.h"
#include "cli/time/set_time.h"
#include "cli/time/status.h"
#include "cli/time/wait_sync.h"
#include "cli/time/watch.h"

namespace tempo::cli {
namespace {

void describe_status(CLI::App& command, StatusArguments& arguments) {
  describe_daemon(command, arguments.daemon,
                  "  tempo status\n"
                  "  tempo status --json | jq .data.status\n"
                  "  tempo status --metrics --output /var/lib/prometheus/node-exporter/tempo.prom");
  describe_host(command, arguments.daemon);
  command.add_flag("--metrics", arguments.metrics, "print metrics in Prometheus text format");
  command.add_option("--output", arguments.output,
                     "replace this file by the metrics at once, for a collector of text files");
}

void describe_watch(CLI::App& command, WatchArguments& arguments) {
  describe_daemon(command, arguments.daemon,
                  "  tempo watch                 full screen; q quits\n"
                  "  tempo watch --lines 10      ten lines\n"
                  "  tempo watch --json | jq -c .data.event");
  command.add_flag("--plain", arguments.plain,
                   "print a line for each change instead of a full screen; the default if standard "
                   "output is not a terminal");
  command.add_option("--lines", arguments.lines, "stop after this many lines; 0: never")
      ->check(CLI::NonNegativeNumber);
}

void describe_wait_sync(CLI::App& command, WaitSyncArguments& arguments) {
  describe_socket(command, arguments.daemon);
  command.add_option("--timeout", arguments.timeout, "longest time to wait")->capture_default_str();
  command.add_option("--within", arguments.within, "largest error bound to accept")
      ->capture_default_str();
  command.add_flag("--alone", arguments.alone, "accept a machine that has heard no other member");
  command.add_flag("--utc", arguments.utc, "wait until this machine carries UTC (trusted = true)");
  describe_json(command, arguments.daemon);
  command.footer(help_end("  tempo wait-sync --timeout 2min --within 500us && start-the-recorder"));
}

void describe_set_time(CLI::App& command, SetTimeArguments& arguments) {
  describe_daemon(command, arguments.daemon,
                  "  sudo tempo set-time --to \"2026-11-16 04:38:02\"\n"
                  "  sudo tempo set-time --by -250ms");
  command.add_option("--by", arguments.by, "offset to add: 1.5s, -250ms");
  command.add_option("--to", arguments.to,
                     "UTC as \"2026-11-16 04:38:02\", or @ and seconds since 1970");
  command.add_flag("--yes", arguments.yes,
                   "do not ask for confirmation; on a terminal, the command asks before it moves "
                   "network time by more than a minute");
}

void describe_clockdiff(CLI::App& command, ClockdiffArguments& arguments) {
  describe_daemon(command, arguments.daemon,
                  "  tempo clockdiff stern mast\n"
                  "  tempo clockdiff 192.0.2.7 --json | jq '.data[0].offset_us'");
  command.add_option("host", arguments.hosts, "names, addresses or ids of members")->required();
}

}  // namespace

void describe_time_commands(CLI::App& app, std::function<int()>& run) {
  add_command(app, run, "status", "show this machine's clock, role and networks", describe_status,
              status);
  add_remote_command(app, run, "now", "show the network time with its error bounds", now,
                     "  tempo now\n"
                     "  tempo now --json | jq .data.latest_ns");
  add_remote_command(app, run, "members", "list the machines of the network with their clocks",
                     members,
                     "  tempo members\n"
                     "  tempo members --json | jq -r '.data[] | select(.faulty) | .name'");
  add_command(app, run, "watch", "show members, clocks and events as they change", describe_watch,
              watch);
  add_command(app, run, "wait-sync", "wait until this machine is synchronized", describe_wait_sync,
              wait_sync);
  add_command(app, run, "set-time", "set the time of a network that has no better source",
              describe_set_time, set_time);
  add_command(app, run, "clockdiff", "show the clock offsets of members", describe_clockdiff,
              clockdiff);
}

}  // namespace tempo::cli
