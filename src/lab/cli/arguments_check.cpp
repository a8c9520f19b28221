// The commands of `tempo-lab check`, described for CLI11.
#include <memory>
#include <string>

#include "cli/common/arguments_command.h"
#include "lab/cli/arguments_topics.h"
#include "lab/cli/check/commands.h"

namespace tempo::cli {
namespace {

// The options of every search, if the command has them.
template <class Arguments>
void describe_search(CLI::App& command, Arguments& arguments) {
  if constexpr (requires { arguments.memory; })
    command
        .add_option("--memory", arguments.memory,
                    "memory limit, such as 512M or 4G; at the limit the search ends incomplete")
        ->capture_default_str();
  if constexpr (requires { arguments.fingerprints; })
    command.add_flag(
        "--fingerprints", arguments.fingerprints,
        "store 64 bits of each state: less memory; the probability of a missed state is printed");
  command
      .add_option("--threads", arguments.threads,
                  "number of threads, 1 or 2; 0: one for each core, at most 2")
      ->capture_default_str();
  describe_json(command, arguments);
}

void describe_examples(CLI::App& command, const std::string& examples) {
  command.footer(
      "Exit status: 0 no violation, 1 a property was violated, 2 bad usage, 130 interrupted.\n\n"
      "Examples:\n" +
      examples);
}

// An option with its default in the help.
template <class Value>
void option(CLI::App& command, const char* name, Value& value, const char* help) {
  command.add_option(name, value, help)->capture_default_str();
}

void describe_check_election(CLI::App& command, CheckElectionArguments& arguments) {
  option(command, "--nodes", arguments.nodes, "number of nodes, 1 to 8");
  option(command, "--losses", arguments.losses, "maximum number of lost messages");
  option(command, "--duplicates", arguments.duplicates, "maximum number of duplicated messages");
  option(command, "--crashes", arguments.crashes, "maximum number of crashes");
  option(command, "--restarts", arguments.restarts,
         "maximum number of restarts; a restarted node has lost its state");
  option(command, "--pauses", arguments.pauses, "maximum number of pauses, of any length");
  option(command, "--timing", arguments.timing,
         "bounded: whole ticks, delays within bounds; free: any timer at any time");
  option(command, "--network", arguments.network,
         "order of messages: bag (any), fifo (per link), set (equal ones count as one) or ordered");
  option(command, "--profile", arguments.profile, "timer profile, in ticks: tiny");
  option(command, "--delay", arguments.delay, "message delay, a range of ticks");
  command.add_option("--starts", arguments.starts,
                     "start tick of each node, such as 0,16,32 [16 ticks apart]");
  command.add_option("--cut", arguments.cut,
                     "nodes separated from the others until --cut-until, such as 1,2");
  command.add_option("--cut-until", arguments.cut_until, "tick in which the partition heals");
  option(command, "--candidacies", arguments.candidacies,
         "maximum number of candidacies of one node; states beyond are not explored");
  option(command, "--variant", arguments.variant,
         "corrected, as-printed, or any of refuse-duplicate, no-loop, no-epoch, "
         "conflict-kills-both, conflict-for-resolve, separated by commas");
  command.add_option("--replay", arguments.replay,
                     "write the counterexample as a script for 'tempo-lab sim replay'");
  command.add_option("--diagram", arguments.diagram,
                     "draw the counterexample: an HTML file, or - for the terminal");
  command.add_flag("--explore", arguments.explore, "explore the states interactively");
  describe_search(command, arguments);
  describe_examples(
      command,
      "  tempo-lab check election --losses 1 --crashes 1\n"
      "  tempo-lab check election --variant refuse-duplicate --crashes 1 --duplicates 1 "
      "--diagram -\n"
      "  tempo-lab check election --nodes 2 --starts 0,0 --cut 1 --cut-until 20 --variant no-loop");
}

void describe_check_core_model(CLI::App& command, CheckCoreArguments& arguments) {
  option(command, "--nodes", arguments.nodes, "number of processes, 1 to 8");
  option(command, "--timeouts", arguments.timeouts, "maximum number of timeouts of each process");
  option(command, "--capacity", arguments.capacity,
         "capacity of an inbox, multiplied by the number of processes");
  command.add_flag("--symmetry", arguments.symmetry,
                   "count states that differ only in the names of processes once");
  describe_search(command, arguments);
  describe_examples(command, "  tempo-lab check core-model --nodes 3 --symmetry");
}

void describe_check_ring(CLI::App& command, CheckRingArguments& arguments) {
  option(command, "--kind", arguments.kind, "equitable or anonymous");
  option(command, "--stations", arguments.stations, "number of stations, 2 to 5");
  option(command, "--range", arguments.range,
         "equitable: highest priority; priorities are 1 to RANGE");
  option(command, "--stages", arguments.stages, "anonymous: number of stages k");
  option(command, "--delay", arguments.delay, "maximum message delay, in ticks");
  command.add_option("--wakers", arguments.wakers,
                     "number of stations that wake up by themselves; a message wakes the others "
                     "[all]");
  option(command, "--losses", arguments.losses, "maximum number of lost messages");
  option(command, "--duplicates", arguments.duplicates, "maximum number of duplicated messages");
  option(command, "--crashes", arguments.crashes, "maximum number of crashes");
  command.add_option("--variant", arguments.variant,
                     "equitable: equitable, ties-by-id or highest-id; anonymous: corrected or "
                     "printed-next-timer");
  describe_search(command, arguments);
  describe_examples(command,
                    "  tempo-lab check ring --stations 4\n"
                    "  tempo-lab check ring --crashes 1\n"
                    "  tempo-lab check ring --kind anonymous --stations 2 --variant "
                    "printed-next-timer");
}

void describe_check_capacity(CLI::App& command, CheckCapacityArguments& arguments) {
  option(command, "--algorithm", arguments.algorithm, "a, b1, b2 or c");
  command.add_option("--nodes", arguments.nodes,
                     "number of processes, 2 to 7 [3, or the minimum for --malicious]");
  command.add_option("--candidates", arguments.candidates,
                     "number of candidates [2; 1 with --malicious]");
  option(command, "--malicious", arguments.malicious,
         "b2: number of malicious processes; they may send anything");
  option(command, "--crashes", arguments.crashes, "maximum number of permanent crashes");
  option(command, "--losses", arguments.losses, "c: maximum number of lost copies of messages");
  option(command, "--pauses", arguments.pauses, "maximum number of pauses");
  option(command, "--delay", arguments.delay, "maximum message delay, in ticks");
  option(command, "--start-skew", arguments.start_skew,
         "a: ticks by which the last process starts after the others");
  command.add_flag("--together", arguments.together,
                   "b1, b2, c: all candidates start in the same tick, not each at any time");
  command.add_flag("--no-self-delivery", arguments.no_self_delivery,
                   "a: a process does not receive its own broadcasts");
  option(command, "--variant", arguments.variant, "corrected or as-printed");
  describe_search(command, arguments);
  describe_examples(command,
                    "  tempo-lab check capacity --algorithm b1 --crashes 1\n"
                    "  tempo-lab check capacity --algorithm b2 --malicious 1 --variant as-printed\n"
                    "  tempo-lab check capacity --algorithm c --nodes 2 --together --losses 3");
}

void describe_check_lock(CLI::App& command, CheckLockArguments& arguments) {
  option(command, "--kind", arguments.kind,
         "mutex, rw: silence is consent; explicit: every site replies; lease: a majority grants");
  option(command, "--sites", arguments.sites, "number of sites, 2 to 5");
  command.add_option("--contending", arguments.contending,
                     "number of sites that request the lock [2]");
  command.add_option("--readers", arguments.readers,
                     "rw, lease: number of contending sites that read [rw: 1]");
  option(command, "--entries", arguments.entries, "maximum number of entries of each site");
  option(command, "--delay", arguments.delay, "maximum message delay, in ticks");
  option(command, "--hold", arguments.hold, "maximum time a site holds the lock, in ticks");
  option(command, "--handling", arguments.handling,
         "mutex, rw, explicit: ticks to handle one message");
  option(command, "--crashes", arguments.crashes, "maximum number of crashes");
  option(command, "--restarts", arguments.restarts,
         "maximum number of restarts; a restarted site has lost its state (lease: except its "
         "record)");
  option(command, "--losses", arguments.losses, "maximum number of lost messages");
  option(command, "--duplicates", arguments.duplicates, "maximum number of duplicated messages");
  option(command, "--pauses", arguments.pauses, "maximum number of pauses");
  option(command, "--lease", arguments.lease, "lease: lease time, 5 to 16 ticks");
  option(command, "--changes", arguments.changes,
         "lease: number of voter changes, requested at any time");
  command.add_flag("--any-order", arguments.any_order,
                   "lease: messages may overtake each other, and timers may fire before messages "
                   "of the same tick");
  option(command, "--variant", arguments.variant,
         "corrected, as-printed, printed-window, modulo or silent-second-timeout");
  describe_search(command, arguments);
  describe_examples(
      command,
      "  tempo-lab check lock --contending 3\n"
      "  tempo-lab check lock --variant as-printed\n"
      "  tempo-lab check lock --sites 2 --crashes 1 --restarts 1\n"
      "  tempo-lab check lock --sites 2 --losses 1              # effect of one lost message\n"
      "  tempo-lab check lock --kind lease --lease 8 --crashes 1 --restarts 1 --contending 1");
}

void describe_check_broadcast(CLI::App& command, CheckBroadcastArguments& arguments) {
  option(command, "--nodes", arguments.nodes, "number of nodes, 2 to 5");
  option(command, "--faulty", arguments.faulty,
         "number of tolerated faulty nodes; node 1 is faulty, unless --losses or --crashes is "
         "given");
  option(command, "--faults", arguments.faults, "omission, or malicious: every hop is signed");
  option(command, "--delay", arguments.delay, "maximum message delay, in ticks");
  option(command, "--clock-error", arguments.clock_error,
         "maximum difference between two clocks, in ticks");
  command.add_option("--speakers", arguments.speakers,
                     "number of nodes that broadcast a message [2; the malicious node alone]");
  option(command, "--losses", arguments.losses, "maximum number of lost copies of messages");
  option(command, "--crashes", arguments.crashes, "maximum number of permanent crashes");
  option(command, "--short-by", arguments.short_by, "ticks by which Delta is too short");
  command.add_flag("--no-relay", arguments.no_relay, "nodes do not relay messages");
  command.add_flag("--no-hop-test", arguments.no_hop_test,
                   "malicious: nodes accept messages that were held back");
  describe_search(command, arguments);
  describe_examples(command,
                    "  tempo-lab check broadcast\n"
                    "  tempo-lab check broadcast --short-by 1\n"
                    "  tempo-lab check broadcast --faults malicious --no-hop-test");
}

}  // namespace

void describe_check_commands(CLI::App& app, std::function<int()>& run) {
  CLI::App& check = *app.add_subcommand("check", "model-check a protocol with a few nodes");
  check.require_subcommand(1);
  add_command(check, run, "election", "master election of tempod", describe_check_election,
              check_election);
  add_command(check, run, "core-model", "benchmark of the checker with known state counts",
              describe_check_core_model, check_core_model);
  add_command(check, run, "ring", "elections on a ring", describe_check_ring, check_ring);
  add_command(check, run, "capacity", "elections by capacity", describe_check_capacity,
              check_capacity);
  add_command(check, run, "broadcast", "atomic broadcast on synchronized clocks",
              describe_check_broadcast, check_broadcast);
  add_command(check, run, "lock", "bounded-delay locks and leases", describe_check_lock,
              check_lock);
}

}  // namespace tempo::cli
