// The commands of `tempo-lab sim`, described for CLI11.
#include <memory>
#include <string>

#include "cli/common/arguments_command.h"
#include "lab/cli/arguments_topics.h"
#include "lab/cli/sim/commands.h"
#include "lab/studies/daemon/daemon_plan.h"
#include "lab/studies/election/scenario.h"

namespace tempo::cli {
namespace {

constexpr const char* kDiagramHelp =
    "draw a space-time diagram of one run: an HTML file, or - for the terminal";
constexpr const char* kExitStatus =
    "Exit status: 0 success, 1 a property was violated (with a command that replays the run),\n"
    "2 bad usage, 130 interrupted.\n\n";

std::string scenario_list() {
  std::string list;
  for (const std::string_view name : sim::election::scenario_names())
    list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

// An option with its default in the help.
template <class Value>
void option(CLI::App& command, const char* name, Value& value, const std::string& help) {
  command.add_option(name, value, help)->capture_default_str();
}

template <class Arguments>
void describe_seed(CLI::App& command, Arguments& arguments) {
  command.add_option("--seed", arguments.seed, "random seed; run k of many uses seed + k")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

// Seed, number of runs and threads. A default of 0 runs is described in `help`.
template <class Arguments, class Count>
void describe_runs(CLI::App& command, Arguments& arguments, const char* name, Count& runs,
                   const char* help) {
  describe_seed(command, arguments);
  CLI::Option* added = command.add_option(name, runs, help);
  if (runs != 0) added->capture_default_str();
  describe_threads(command, arguments);
}

void describe_sim_election(CLI::App& command, SimElectionArguments& arguments) {
  option(command, "--nodes", arguments.nodes, "number of nodes, including those that crash");
  option(command, "--scenario", arguments.scenario, scenario_list());
  option(command, "--profile", arguments.profile,
         "timer profile: classic (that of 4.3BSD), lan or fast");
  command.add_option("--election-timer", arguments.election_timer,
                     "range a..b of a follower's election timeout, instead of the profile's");
  command.add_option("--repeats", arguments.repeats,
                     "extra copies of Masterreq and Election, 0 to 4; 0 gives the message counts "
                     "of the paper [4]");
  option(command, "--loss", arguments.loss, "probability that a message is lost");
  option(command, "--duplicate", arguments.duplicate, "probability that a message arrives twice");
  option(command, "--reorder", arguments.reorder,
         "probability that a message is delayed by up to four mean delays");
  option(command, "--delay", arguments.delay,
         "message delay: 100us, uniform:a..b, exp:mean, normal:mean,sd or pareto:min,alpha; "
         "combine with +");
  describe_runs(command, arguments, "--runs", arguments.runs,
                "number of runs; more than one prints statistics");
  command.add_option("--until", arguments.until,
                     "simulated time by which there must be one master, such as 60s");
  option(command, "--variant", arguments.variant,
         "corrected, as-printed, or any of refuse-duplicate, no-loop, no-epoch, "
         "conflict-kills-both, conflict-for-resolve, separated by commas");
  command.add_flag("--trace", arguments.trace, "print every message and state change of one run");
  command.add_option("--diagram", arguments.diagram, kDiagramHelp);
  command.add_option("--script", arguments.script,
                     "write the run as a script test; a run that violates a property is shrunk "
                     "first");
  command.add_flag("--baselines", arguments.baselines,
                   "compare with the cost of LeLann's and the bully election");
  describe_json(command, arguments);
  command.footer(
      std::string(kExitStatus) +
      "Examples:\n"
      "  tempo-lab sim election --nodes 21 --scenario master-crash --repeats 0\n"
      "  tempo-lab sim election --nodes 7 --scenario churn --loss 0.1 --duplicate 0.05 --runs "
      "10000\n"
      "  tempo-lab sim election --nodes 5 --scenario two-candidates --diagram election.html\n"
      "  tempo-lab sim election --nodes 11 --scenario collision --election-timer 60s..120s "
      "--delay 1s");
}

void describe_sim_sync_clocks(CLI::App& command, SimSyncArguments& arguments) {
  option(command, "--offset", arguments.offset,
         "maximum initial offset of a clock from the master's");
  option(command, "--frequency", arguments.frequency,
         "maximum frequency error of a clock, such as 50ppm");
  option(command, "--wander", arguments.wander,
         "random walk of the frequency, per square root of a second");
  option(command, "--white", arguments.white, "white frequency noise, per square root of a second");
  option(command, "--aging", arguments.aging, "aging of the frequency, per second");
  option(command, "--temperature", arguments.temperature,
         "amplitude of the daily temperature effect on the frequency");
  option(command, "--worse-half", arguments.worse_half,
         "factor by which half of the clocks wander more");
  command.add_flag("--isolated", arguments.isolated,
                   "no clock is perfect; by default that of the first master is");
}

void describe_sim_sync_accidents(CLI::App& command, SimSyncArguments& arguments) {
  command.add_option("--liars", arguments.liars,
                     "K clients with a wrong clock: K:constant (10 ms), K:drifting (100 us a "
                     "second), K:random (up to 10 ms), or K:gone (silent, for comparison)");
  command.add_flag("--lying-master", arguments.lying_master, "the first master is a liar too");
  option(command, "--lies-from", arguments.lies_from,
         "second in which the lies begin; 0: the middle of the measured time");
  command.add_option("--kill-master-at", arguments.kill_master_at,
                     "second in which the master crashes");
  command.add_option("--change-at", arguments.change_at,
                     "second of the changes below [the middle of the measured time]");
  option(command, "--longer-up", arguments.longer_up,
         "additional delay towards the master after the change");
  command.add_option("--later-jitter", arguments.later_jitter,
                     "jitter in both directions after the change");
  option(command, "--clock-jump", arguments.clock_jump,
         "step of the first client's clock at the change");
  option(command, "--rate-jump", arguments.rate_jump,
         "step of the first client's frequency at the change");
  command.add_option("--disturb", arguments.disturb,
                     "disturb one clock, and repeat the option for more: NODE:rate:5ppm@SECOND "
                     "changes its frequency, NODE:jump:-200us@SECOND its time, "
                     "NODE:ramp:5ppm/SECONDS@SECOND its frequency little by little, as a change of "
                     "temperature does; node 0 is the first master");
  option(command, "--rate-jump-max", arguments.rate_jump_max,
         "sudden change of a frequency that every error bound allows for, such as 20ppm; as "
         "tempod's rate-jump-max-ppm");
  option(command, "--diurnal", arguments.diurnal,
         "factor by which queues are longer in the middle of every hour");
  option(command, "--churn", arguments.churn,
         "interval in seconds at which a client crashes and returns a minute later; 0: never");
}

void describe_sim_sync_utc(CLI::App& command, SimSyncArguments& arguments) {
  option(command, "--trusted", arguments.trusted,
         "number of clients with UTC, correct to 100 us; network time converges to it");
  option(command, "--utc-liars", arguments.utc_liars,
         "number of these clients whose UTC is wrong by 100 ms");
  command.add_option("--leap-at", arguments.leap_at,
                     "second in which their kernels insert a leap second");
}

void describe_sim_sync(CLI::App& command, SimSyncArguments& arguments) {
  option(command, "--clients", arguments.clients, "number of nodes besides the master");
  option(command, "--delay", arguments.delay, "minimum delay of every datagram");
  option(command, "--jitter", arguments.jitter,
         "additional delay: exp:100us, normal:100us,20us, uniform:0us..100us or pareto:min,alpha");
  command.add_option("--jitter-up", arguments.jitter_up, "jitter towards the master [--jitter]");
  command.add_option("--jitter-down", arguments.jitter_down, "jitter from the master [--jitter]");
  option(command, "--loss", arguments.loss, "probability that a datagram is lost");
  describe_sim_sync_clocks(command, arguments);
  option(command, "--rate", arguments.rate,
         "requests per second and client; a burst of three counts as three requests");
  option(command, "--seconds", arguments.seconds, "simulated time, seconds");
  option(command, "--discard", arguments.discard,
         "time at the start that is not measured, seconds");
  describe_sim_sync_accidents(command, arguments);
  describe_sim_sync_utc(command, arguments);
  describe_runs(command, arguments, "--seeds", arguments.seeds,
                "number of runs; the mean and the worst run are printed");
  command.add_option("--html", arguments.html, "write the plot and the figures to this file");
  describe_json(command, arguments);
  command.footer(
      "Exit status: 0 success, 1 an error bound did not contain the true time, 2 bad usage.\n\n"
      "Examples:\n"
      "  tempo-lab sim sync --jitter exp:10us --seeds 5\n"
      "  tempo-lab sim sync --clients 6 --liars 2:drifting --lying-master\n"
      "  tempo-lab sim sync --disturb 1:rate:5ppm@2000 --disturb 2:ramp:-5ppm/300@2000\n"
      "  tempo-lab sim sync --kill-master-at 2500 --html killed.html\n"
      "  tempo-lab sim sync --trusted 3 --utc-liars 1 --seconds 20000 --discard 10000\n"
      "  tempo-lab sim sync --clients 7 --isolated --jitter exp:10us --json");
}

void describe_sim_capacity(CLI::App& command, SimCapacityArguments& arguments) {
  option(command, "--algorithm", arguments.algorithm,
         "a: all start together; b1: processes may crash; b2: processes may be malicious; "
         "b2-unordered: and broadcasts arrive in any order; c: messages are lost");
  option(command, "--nodes", arguments.nodes, "number of processes of the group");
  option(command, "--candidates", arguments.candidates, "number of candidates; 0: all processes");
  option(command, "--loss", arguments.loss, "c: probability that a copy of a message is lost");
  option(command, "--malicious", arguments.malicious,
         "b2: number t of malicious processes; requires nodes >= 3t + 1");
  option(command, "--crash", arguments.crash,
         "number of processes that crash permanently during the election");
  option(command, "--pauses", arguments.pauses, "number of processes that pause for one to two T");
  option(command, "--bound", arguments.bound, "T, the maximum delivery time of a broadcast");
  command.add_option("--start-skew", arguments.start_skew,
                     "maximum difference between start times [0s for a, T for the others]");
  option(command, "--clock-error", arguments.clock_error, "maximum difference between two clocks");
  command.add_flag("--no-self-delivery", arguments.no_self_delivery,
                   "a process does not receive its own broadcasts");
  option(command, "--broadcast", arguments.broadcast,
         "ideal: the network is a reliable broadcast; atomic: the atomic broadcast machine, on "
         "clocks up to 100us apart and message delays up to 1ms");
  option(command, "--criterion", arguments.criterion,
         "capacities: random, id, equal or changing (also during the election)");
  option(command, "--variant", arguments.variant, "corrected or as-printed");
  describe_runs(command, arguments, "--runs", arguments.runs, "number of elections");
  describe_json(command, arguments);
  command.footer(
      "Exit status: 0 success, 2 bad usage, 130 interrupted. Disagreement is a result, not an\n"
      "error: options can remove the assumptions that an algorithm needs.\n\n"
      "Examples:\n"
      "  tempo-lab sim capacity --algorithm a --start-skew 1ms      # how often they disagree\n"
      "  tempo-lab sim capacity --algorithm b2 --nodes 7 --malicious 2 --runs 100000\n"
      "  tempo-lab sim capacity --algorithm c --nodes 2 --loss 0.3 --start-skew 0s --runs 100000");
}

void describe_sim_daemon(CLI::App& command, SimDaemonArguments& arguments) {
  option(command, "--nodes", arguments.nodes, "number of hosts; all of them vote on locks");
  option(command, "--clients", arguments.clients,
         "number of clients, which acquire locks, stand for groups and die");
  option(command, "--scenario", arguments.scenario, sim::daemon::scenario_names());
  option(command, "--until", arguments.until,
         "simulated time of a run, at least 20s; no faults happen in its last quarter, nor in its "
         "last 15 s; replay: time of the recording, and 90s of attacks on each host follow");
  describe_runs(command, arguments, "--runs", arguments.runs, "number of runs");
  command.add_flag("--shrink", arguments.shrink,
                   "find the fewest planned events with which the first failing run still fails");
  command.add_option("--keep", arguments.keep,
                     "planned events that happen, such as 3,17,20; default: all");
  command.add_option("--fault", arguments.fault,
                     "deliberate fault, to see that the properties notice it: ignore-order, "
                     "forget-persisted, notify-twice, lost-is-absent or copy-is-hidden");
  describe_json(command, arguments);
  command.footer(
      "Each host runs what tempod runs: master election, clock, locks of all kinds and groups, "
      "with a\n"
      "simulated disk. Properties of time, elections, locks and groups are checked at every "
      "step.\n\n" +
      std::string(kExitStatus) +
      "Examples:\n"
      "  tempo-lab sim daemon --scenario everything --runs 1000\n"
      "  tempo-lab sim daemon --scenario disk --runs 100 --shrink\n"
      "  tempo-lab sim daemon --scenario replay --until 600s --runs 1000");
}

void describe_lock_faults(CLI::App& command, SimLockArguments& arguments) {
  option(command, "--loss", arguments.loss, "probability that a copy of a message is lost");
  option(command, "--late", arguments.late,
         "probability that a message is late by up to four maximum delays (lease: three leases)");
  option(command, "--pauses", arguments.pauses, "pauses of a site per entry (lease: per second)");
  option(command, "--crashes", arguments.crashes,
         "crashes with restart per entry (lease: per second); half of them just after a refusal");
  option(command, "--partitions", arguments.partitions,
         "network partitions per entry (lease: per second)");
  option(command, "--doubts", arguments.doubts,
         "times per entry that the bounds fail and all sites are informed");
}

void describe_sim_lock(CLI::App& command, SimLockArguments& arguments) {
  option(command, "--kind", arguments.kind,
         "mutex, rw: silence is consent; optimistic: readers retry; explicit: every site replies "
         "(Ricart and Agrawala); lease: a majority grants");
  option(command, "--sites", arguments.sites, "number of sites");
  option(command, "--contending", arguments.contending,
         "number of sites that request the lock; 0: all");
  option(command, "--readers", arguments.readers,
         "rw, lease: number of contending sites that read; 0: half (rw), none (lease)");
  option(command, "--gamma", arguments.gamma, "shortest step divided by the longest");
  option(command, "--entries", arguments.entries, "number of lock entries");
  option(command, "--handlers", arguments.handlers,
         "serial: a site handles one message at a time; parallel: all at once");
  option(command, "--sleep", arguments.sleep,
         "pause before a request, in passes; 0: none, with the most refusals");
  command.add_flag("--outlive", arguments.outlive,
                   "a client keeps the lock when its site crashes, and the lock allows for it");
  describe_lock_faults(command, arguments);
  option(command, "--variant", arguments.variant,
         "corrected, as-printed, printed-window, modulo, silent-second-timeout; optimistic: "
         "lamport");
  describe_seed(command, arguments);
  describe_threads(command, arguments);
  describe_json(command, arguments);
  command.footer(
      "A step takes up to 10us, a message 100us to 1ms, a hold up to 50 steps. A run has 10,000\n"
      "entries.\n\n"
      "Exit status: 0 success, 2 bad usage, 130 interrupted. A violation is a result, not an\n"
      "error: options can remove the assumptions that a lock needs.\n\n"
      "Examples:\n"
      "  tempo-lab sim lock --crashes 0.3 --entries 1000000\n"
      "  tempo-lab sim lock --kind explicit                         # twice the messages\n"
      "  tempo-lab sim lock --variant as-printed --handlers parallel\n"
      "  tempo-lab sim lock --loss 0.001                            # effect of lost messages\n"
      "  tempo-lab sim lock --kind optimistic --gamma 0.1\n"
      "  tempo-lab sim lock --kind lease --loss 0.1 --crashes 2     # rates per second");
}

void describe_sim_app(CLI::App& command, SimAppArguments& arguments) {
  command.add_option("name", arguments.name,
                     "group-server, load-balancing, replicated-data, crash-recovery, "
                     "group-joining or mutual-exclusion");
  option(command, "--nodes", arguments.nodes, "number of processes of the group, 3 to 64");
  option(command, "--crash", arguments.crash,
         "number of processes that crash permanently in the middle of their work");
  option(command, "--loss", arguments.loss,
         "probability that a datagram is lost; links repeat it, and T grows");
  option(command, "--variant", arguments.variant,
         "corrected, or naive: the obvious version, which violates its property");
  describe_runs(command, arguments, "--runs", arguments.runs,
                "number of runs [1000; 1 with --trace or --diagram]");
  command.add_flag("--trace", arguments.trace, "print every message of one run");
  command.add_option("--diagram", arguments.diagram, kDiagramHelp);
  describe_json(command, arguments);
  command.footer(
      std::string(
          "Each application is an election by capacity (B.1) with its own criterion, on atomic\n"
          "broadcast. Every run checks its property from outside, under the fault that the naive\n"
          "version does not survive.\n\n") +
      kExitStatus +
      "Examples:\n"
      "  tempo-lab sim app                                        # list of applications\n"
      "  tempo-lab sim app mutual-exclusion --nodes 7 --runs 10000\n"
      "  tempo-lab sim app replicated-data --variant naive        # a partition, two values\n"
      "  tempo-lab sim app crash-recovery --crash 3 --diagram recovery.html");
}

void describe_replay(CLI::App& command, ReplayArguments& arguments) {
  command
      .add_option("file", arguments.file,
                  "a script of 'tempo-lab check ... --replay FILE', or a trace of 'tempo trace "
                  "follow > FILE' or 'tempo-lab sim ... --trace > FILE'")
      ->required();
  command.add_flag("--trace", arguments.trace, "print every event");
  command.add_option("--diagram", arguments.diagram,
                     "draw a space-time diagram: an HTML file, or - for the terminal");
  describe_json(command, arguments);
  command.footer(
      "Examples:\n"
      "  tempo-lab check election --variant no-loop --replay found; tempo-lab sim replay found\n"
      "  tempo trace follow > today.trace\n"
      "  tempo-lab sim replay today.trace --diagram today.html");
}

void describe_sim_ring(CLI::App& command, SimRingArguments& arguments) {
  option(command, "--kind", arguments.kind, "equitable or anonymous");
  option(command, "--stations", arguments.stations, "number of stations, 1 to 1024");
  option(command, "--range", arguments.range,
         "equitable: highest priority; priorities are 1 to RANGE");
  option(command, "--stages", arguments.stages, "anonymous: number of stages k of a claim");
  option(command, "--gamma", arguments.gamma,
         "anonymous: rmin/rmax, shortest step of a station divided by the longest");
  option(command, "--loss", arguments.loss, "probability that a datagram is lost");
  option(command, "--duplicate", arguments.duplicate, "probability that a datagram arrives twice");
  option(command, "--crash", arguments.crash, "number of stations that crash during the election");
  option(command, "--faulty", arguments.faulty,
         "equitable: number of faulty stations; a faulty leader is detected and replaced");
  command.add_option("--candidates", arguments.candidates,
                     "anonymous: number of stations that draw 1 in the first phase; all wake up "
                     "together");
  command.add_flag("--first-is-fast", arguments.first_is_fast,
                   "with --candidates: the first is as fast as gamma allows, the others are slow");
  command.add_option("--variant", arguments.variant,
                     "equitable: equitable, ties-by-id or highest-id; anonymous: corrected or "
                     "printed-next-timer");
  describe_runs(command, arguments, "--runs", arguments.runs, "number of elections");
  command.add_flag("--fast", arguments.fast,
                   "draw rounds or phases by Monte Carlo without simulation: millions a second");
  command.add_option("--shard", arguments.shard,
                     "run one part of several, such as 2/4; then 'tempo-lab sim merge'");
  command.add_flag("--trace", arguments.trace, "print every message and state change of one run");
  command.add_option("--diagram", arguments.diagram, kDiagramHelp);
  describe_json(command, arguments);
  command.footer(
      std::string(kExitStatus) +
      "Examples:\n"
      "  tempo-lab sim ring --stations 64 --runs 10000\n"
      "  tempo-lab sim ring --stations 12 --crash 2 --loss 0.1 --runs 1000\n"
      "  tempo-lab sim ring --kind anonymous --gamma 0.5 --stages 10 --runs 1000\n"
      "  tempo-lab sim ring --stations 64 --runs 100000000 --fast --shard 1/2 --json > 1.json");
}

void describe_sim_merge(CLI::App& command, SimMergeArguments& arguments) {
  command.add_option("file", arguments.files, "the JSON output of all shards")->required();
  describe_json(command, arguments);
  command.footer(
      "Examples:\n"
      "  tempo-lab sim merge 1.json 2.json");
}

}  // namespace

void describe_sim_commands(CLI::App& app, std::function<int()>& run) {
  CLI::App& sim = *app.add_subcommand("sim", "simulate protocols in a network with faults");
  sim.require_subcommand(1);
  add_command(sim, run, "election", "master election, once or many times", describe_sim_election,
              sim_election);
  add_command(sim, run, "capacity", "elections by capacity: algorithms A, B.1, B.2 and C",
              describe_sim_capacity, sim_capacity);
  add_command(sim, run, "daemon", "whole daemons: time, election, locks and groups together",
              describe_sim_daemon, sim_daemon);
  add_command(sim, run, "sync", "clock synchronization of whole nodes", describe_sim_sync,
              sim_sync);
  add_command(sim, run, "replay", "replay a counterexample, or draw a trace", describe_replay,
              sim_replay);
  add_command(sim, run, "app", "applications of elections; without a name: a list",
              describe_sim_app, sim_app);
  add_command(sim, run, "lock", "locks under faults", describe_sim_lock, sim_lock);
  add_command(sim, run, "ring", "elections on a ring, equitable or anonymous", describe_sim_ring,
              sim_ring);
  add_command(sim, run, "merge", "combine the shards of one 'sim ring'", describe_sim_merge,
              sim_merge);
}

}  // namespace tempo::cli
