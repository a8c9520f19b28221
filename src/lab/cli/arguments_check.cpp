// The commands that look at every interleaving, described for CLI11.
#include <memory>
#include <string>

#include "cli/common/arguments_command.h"
#include "lab/cli/arguments_topics.h"
#include "lab/cli/check/check.h"
#include "lab/cli/check/check_broadcast.h"
#include "lab/cli/check/check_capacity.h"
#include "lab/cli/check/check_lock.h"
#include "lab/cli/check/check_ring.h"

namespace tempo::cli {
namespace {

// What every search of small worlds can be told, as far as the arguments have it.
template <class Arguments>
void describe_search(CLI::App& command, Arguments& arguments) {
  if constexpr (requires { arguments.memory; })
    command.add_option("--memory", arguments.memory, "at most; then the check ends, not complete")
        ->capture_default_str();
  command.add_option("--threads", arguments.threads, "1 or 2; 0: as many as there are cores")
      ->capture_default_str();
  command.add_flag("--json", arguments.json, "for programs");
}

void describe_check_election(CLI::App& command, CheckElectionArguments& arguments) {
  command.add_option("--nodes", arguments.nodes, "1 to 8 machines")->capture_default_str();
  command.add_option("--losses", arguments.losses, "messages that may be lost, at most")
      ->capture_default_str();
  command.add_option("--duplicates", arguments.duplicates, "messages that may arrive twice")
      ->capture_default_str();
  command.add_option("--crashes", arguments.crashes, "machines that may crash")
      ->capture_default_str();
  command.add_option("--restarts", arguments.restarts, "restarts with lost state")
      ->capture_default_str();
  command.add_option("--pauses", arguments.pauses, "pauses of any length")->capture_default_str();
  command
      .add_option("--timing", arguments.timing,
                  "bounded: ticks, delays within bounds; free: any timer at any time")
      ->capture_default_str();
  command.add_option("--network", arguments.network, "bag, fifo, set or ordered")
      ->capture_default_str();
  command.add_option("--profile", arguments.profile, "timers in ticks: tiny")
      ->capture_default_str();
  command.add_option("--delay", arguments.delay, "of a message, in ticks")->capture_default_str();
  command.add_option("--starts", arguments.starts,
                     "tick of each machine's start, as 0,16,32 (the default)");
  command.add_option("--cut", arguments.cut,
                     "machines that reach no others until --cut-until, as 1,2");
  command.add_option("--cut-until", arguments.cut_until, "tick in which the network heals");
  command
      .add_option("--candidacies", arguments.candidacies,
                  "of one machine, at most; what follows is not looked at")
      ->capture_default_str();
  command
      .add_option("--variant", arguments.variant,
                  "corrected, as-printed, or any of refuse-duplicate, no-loop, no-epoch, "
                  "conflict-kills-both, conflict-for-resolve, separated by commas")
      ->capture_default_str();
  command.add_option("--memory", arguments.memory, "at most; then the check ends, not complete")
      ->capture_default_str();
  command.add_flag("--fingerprints", arguments.fingerprints,
                   "keep 64 bits of each state: less memory, and how likely one is missed is said");
  command.add_option("--threads", arguments.threads, "1 or 2; 0: as many as there are cores")
      ->capture_default_str();
  command.add_option("--replay", arguments.replay,
                     "write a broken promise as a script for `tempo sim replay`");
  command.add_option("--diagram", arguments.diagram,
                     "draw a broken promise: an HTML file, or - for the terminal");
  command.add_flag("--explore", arguments.explore, "walk through the states by hand instead");
  command.add_flag("--json", arguments.json, "for programs");
  command.footer(
      "Examples:\n"
      "  tempo check election --losses 1 --crashes 1\n"
      "  tempo check election --variant refuse-duplicate --crashes 1 --duplicates 1 --diagram -\n"
      "  tempo check election --nodes 2 --starts 0,0 --cut 1 --cut-until 20 --variant no-loop\n"
      "Ends with 0 if nothing is broken, 1 if something is.");
}

void describe_check_core_model(CLI::App& command, CheckCoreArguments& arguments) {
  command.add_option("--nodes", arguments.nodes, "processes")->capture_default_str();
  command.add_option("--timeouts", arguments.timeouts, "of each process, at most")
      ->capture_default_str();
  command
      .add_option("--capacity", arguments.capacity, "of an inbox, times the number of processes")
      ->capture_default_str();
  command.add_flag("--symmetry", arguments.symmetry, "count states up to the processes' names");
  command.add_option("--memory", arguments.memory, "at most")->capture_default_str();
  command.add_flag("--fingerprints", arguments.fingerprints,
                   "keep 64 bits of each state: less memory, and how likely one is missed is said");
  command.add_option("--threads", arguments.threads, "1 or 2; 0: as many as there are cores")
      ->capture_default_str();
  command.add_flag("--json", arguments.json, "for programs");
}

void describe_check_ring(CLI::App& command, CheckRingArguments& arguments) {
  command.add_option("--kind", arguments.kind, "equitable or anonymous")->capture_default_str();
  command.add_option("--stations", arguments.stations, "2 to 5")->capture_default_str();
  command.add_option("--range", arguments.range, "equitable: priorities are 1 to this")
      ->capture_default_str();
  command.add_option("--stages", arguments.stages, "anonymous: k")->capture_default_str();
  command.add_option("--delay", arguments.delay, "of a message, 1 to this many ticks")
      ->capture_default_str();
  command.add_option("--wakers", arguments.wakers,
                     "the first so many wake up by themselves, the others by a message [all]");
  command.add_option("--losses", arguments.losses, "messages that may be lost, at most")
      ->capture_default_str();
  command.add_option("--duplicates", arguments.duplicates, "messages that may arrive twice")
      ->capture_default_str();
  command.add_option("--crashes", arguments.crashes, "stations that may crash")
      ->capture_default_str();
  command.add_option("--variant", arguments.variant,
                     "equitable, ties-by-id, highest-id; corrected, printed-next-timer");
  describe_search(command, arguments);
  command.footer(
      "Examples:\n"
      "  tempo check ring --stations 4\n"
      "  tempo check ring --crashes 1\n"
      "  tempo check ring --kind anonymous --stations 2 --variant printed-next-timer\n"
      "Ends with 0 if nothing is broken, 1 if something is.");
}

void describe_check_capacity(CLI::App& command, CheckCapacityArguments& arguments) {
  command.add_option("--algorithm", arguments.algorithm, "a, b1, b2 or c")->capture_default_str();
  command.add_option("--nodes", arguments.nodes, "2 to 7 [3, or as many as the malicious need]");
  command.add_option("--candidates", arguments.candidates,
                     "the first so many [2; 1 where somebody lies]");
  command.add_option("--malicious", arguments.malicious, "b2: the last so many say anything")
      ->capture_default_str();
  command.add_option("--crashes", arguments.crashes, "processes that may stop for ever")
      ->capture_default_str();
  command.add_option("--losses", arguments.losses, "c: copies of messages that may be lost")
      ->capture_default_str();
  command.add_option("--pauses", arguments.pauses, "processes that may stand still for a while")
      ->capture_default_str();
  command.add_option("--delay", arguments.delay, "of a message, 1 to this many ticks")
      ->capture_default_str();
  command
      .add_option("--start-skew", arguments.start_skew,
                  "a: the last begins so many ticks after the others")
      ->capture_default_str();
  command.add_flag("--together", arguments.together,
                   "b1, b2, c: all candidates begin at once, not each when it likes");
  command.add_flag("--no-self-delivery", arguments.no_self_delivery, "a: nobody hears itself");
  command.add_option("--variant", arguments.variant, "corrected or as-printed")
      ->capture_default_str();
  describe_search(command, arguments);
  command.footer(
      "Examples:\n"
      "  tempo check capacity --algorithm b1 --crashes 1\n"
      "  tempo check capacity --algorithm b2 --malicious 1 --variant as-printed\n"
      "  tempo check capacity --algorithm c --nodes 2 --together --losses 3\n"
      "Ends with 0 if nothing is broken, 1 if something is.");
}

void describe_check_lock(CLI::App& command, CheckLockArguments& arguments) {
  command
      .add_option("--kind", arguments.kind,
                  "mutex, rw: silence is consent; explicit: everybody replies; lease")
      ->capture_default_str();
  command.add_option("--sites", arguments.sites, "2 to 5")->capture_default_str();
  command.add_option("--contending", arguments.contending, "the first so many want the lock [2]");
  command.add_option("--readers", arguments.readers,
                     "rw, lease: the first so many of these read [rw: 1]");
  command.add_option("--entries", arguments.entries, "of each at most")->capture_default_str();
  command.add_option("--delay", arguments.delay, "of a message, 1 to this many ticks")
      ->capture_default_str();
  command.add_option("--hold", arguments.hold, "at most so many ticks")->capture_default_str();
  command
      .add_option("--handling", arguments.handling,
                  "mutex, rw, explicit: each message takes so many ticks")
      ->capture_default_str();
  command.add_option("--crashes", arguments.crashes, "sites that may crash")->capture_default_str();
  command
      .add_option("--restarts", arguments.restarts,
                  "of these, with everything forgotten; lease: but the record")
      ->capture_default_str();
  command.add_option("--losses", arguments.losses, "messages that may be lost")
      ->capture_default_str();
  command.add_option("--duplicates", arguments.duplicates, "messages that may come twice")
      ->capture_default_str();
  command.add_option("--pauses", arguments.pauses, "sites that may stand still for a while")
      ->capture_default_str();
  command.add_option("--lease", arguments.lease, "lease: of so many ticks, 5 to 16")
      ->capture_default_str();
  command.add_option("--changes", arguments.changes, "lease: of who votes, wanted at any time")
      ->capture_default_str();
  command.add_flag("--any-order", arguments.any_order,
                   "lease: messages may overtake each other, and timers mail");
  command
      .add_option("--variant", arguments.variant,
                  "corrected, as-printed, printed-window, modulo, silent-second-timeout")
      ->capture_default_str();
  describe_search(command, arguments);
  command.footer(
      "Examples:\n"
      "  tempo check lock --contending 3\n"
      "  tempo check lock --variant as-printed\n"
      "  tempo check lock --sites 2 --crashes 1 --restarts 1\n"
      "  tempo check lock --sites 2 --losses 1                      # what one lost message does\n"
      "  tempo check lock --kind lease --lease 8 --crashes 1 --restarts 1 --contending 1\n"
      "Ends with 0 if nothing is broken, 1 if something is.");
}

void describe_check_broadcast(CLI::App& command, CheckBroadcastArguments& arguments) {
  command.add_option("--nodes", arguments.nodes, "2 to 5")->capture_default_str();
  command
      .add_option("--faulty", arguments.faulty,
                  "so many are borne; node 1 is, unless --losses or --crashes say what fails")
      ->capture_default_str();
  command.add_option("--faults", arguments.faults, "omission, or malicious: every hop is signed")
      ->capture_default_str();
  command.add_option("--delay", arguments.delay, "of a message, 1 to this many ticks")
      ->capture_default_str();
  command
      .add_option("--clock-error", arguments.clock_error, "clocks differ by up to so many ticks")
      ->capture_default_str();
  command.add_option("--speakers", arguments.speakers,
                     "the first so many say a word [2; the malicious one alone]");
  command.add_option("--losses", arguments.losses, "copies of messages that may be lost")
      ->capture_default_str();
  command.add_option("--crashes", arguments.crashes, "processes that may stop for ever")
      ->capture_default_str();
  command.add_option("--short-by", arguments.short_by, "Delta is so many ticks too short")
      ->capture_default_str();
  command.add_flag("--no-relay", arguments.no_relay, "nobody hands on what it heard");
  command.add_flag("--no-hop-test", arguments.no_hop_test,
                   "malicious: what was held back is believed");
  describe_search(command, arguments);
  command.footer(
      "Examples:\n"
      "  tempo check broadcast\n"
      "  tempo check broadcast --short-by 1\n"
      "  tempo check broadcast --faults malicious --no-hop-test\n"
      "Ends with 0 if nothing is broken, 1 if something is.");
}

}  // namespace

void describe_check_commands(CLI::App& app, std::function<int()>& run) {
  CLI::App& check = *app.add_subcommand("check", "look at every interleaving of a small world");
  check.require_subcommand(1);
  add_command(check, run, "election", "the election of a master, the machine that ships",
              describe_check_election, check_election);
  add_command(check, run, "core-model", "a yardstick whose state counts are known",
              describe_check_core_model, check_core_model);
  add_command(check, run, "ring", "elections on a ring, the machines that ship",
              describe_check_ring, check_ring);
  add_command(check, run, "capacity", "elections by capacity, the machines that ship",
              describe_check_capacity, check_capacity);
  add_command(check, run, "broadcast", "atomic broadcast on clocks that agree",
              describe_check_broadcast, check_broadcast);
  add_command(check, run, "lock", "locks of known time, and leases", describe_check_lock,
              check_lock);
}

}  // namespace tempo::cli
