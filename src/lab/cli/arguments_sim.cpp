// The commands that simulate, described for CLI11.
#include <memory>
#include <string>

#include "cli/common/arguments_command.h"
#include "lab/cli/arguments_topics.h"
#include "lab/cli/sim/sim_app.h"
#include "lab/cli/sim/sim_capacity.h"
#include "lab/cli/sim/sim_election.h"
#include "lab/cli/sim/sim_lock.h"
#include "lab/cli/sim/sim_replay.h"
#include "lab/cli/sim/sim_ring.h"
#include "lab/cli/sim/sim_sync.h"
#include "lab/studies/election/scenario.h"

namespace tempo::cli {
namespace {

std::string scenario_list() {
  std::string list;
  for (const std::string_view name : sim::election::scenario_names())
    list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

template <class Arguments>
void describe_seed(CLI::App& command, Arguments& arguments) {
  command.add_option("--seed", arguments.seed, "decides everything; run k of many has seed + k")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

// What every simulation that can be repeated has: where chance begins, how often (0 stands for what
// the help says), by how many hands.
template <class Arguments, class Count>
void describe_runs(CLI::App& command, Arguments& arguments, const char* name, Count& runs,
                   const char* help) {
  describe_seed(command, arguments);
  CLI::Option* option = command.add_option(name, runs, help);
  if (runs != 0) option->capture_default_str();
  describe_threads(command, arguments);
}

void describe_sim_election(CLI::App& command, SimElectionArguments& arguments) {
  command
      .add_option("--nodes", arguments.nodes,
                  "how many machines, all counted; a master's crash leaves one less")
      ->capture_default_str();
  command.add_option("--scenario", arguments.scenario, scenario_list())->capture_default_str();
  command.add_option("--profile", arguments.profile, "timers: classic (4.3BSD's), lan, fast")
      ->capture_default_str();
  command.add_option("--election-timer", arguments.election_timer,
                     "a slave's patience, drawn from a..b, instead of the profile's");
  command.add_option(
      "--repeats", arguments.repeats,
      "extra sends of Masterreq and Election, 0 to 4; 0 gives the paper's counts [4]");
  command.add_option("--loss", arguments.loss, "probability that a message is lost")
      ->capture_default_str();
  command.add_option("--duplicate", arguments.duplicate, "probability that it arrives twice")
      ->capture_default_str();
  command
      .add_option("--reorder", arguments.reorder,
                  "probability that it is held back, for up to four mean delays")
      ->capture_default_str();
  command
      .add_option("--delay", arguments.delay,
                  "100us, uniform:a..b, exp:mean, normal:mean,sd, pareto:min,alpha; + adds")
      ->capture_default_str();
  describe_runs(command, arguments, "--runs", arguments.runs,
                "how many runs; statistics instead of one story");
  command.add_option("--until", arguments.until,
                     "simulated time by which there must be one master, for example 60s");
  command
      .add_option(
          "--variant", arguments.variant,
          "corrected, as-printed, or any of refuse-duplicate,no-loop,no-epoch,conflict-kills-both,"
          "conflict-for-resolve")
      ->capture_default_str();
  command.add_flag("--trace", arguments.trace, "print every message and state of one run");
  command.add_option("--diagram", arguments.diagram,
                     "space-time diagram of one run: an HTML file, or - for the terminal");
  command.add_option("--script", arguments.script,
                     "write the run as a script test; one that breaks a promise is shrunk first");
  command.add_flag("--baselines", arguments.baselines,
                   "beside it, what LeLann's and the bully election cost among as many");
  command.add_flag("--json", arguments.json, "for programs");
  command.footer(
      "Exit status: 0 done, 1 a promise was broken (a line to replay it is printed), 2 bad usage,\n"
      "130 interrupted.\n\n"
      "Examples:\n"
      "  tempo sim election --nodes 21 --scenario master-crash --repeats 0\n"
      "  tempo sim election --nodes 7 --scenario churn --loss 0.1 --duplicate 0.05 --runs 10000\n"
      "  tempo sim election --nodes 5 --scenario two-candidates --diagram election.html\n"
      "  tempo sim election --nodes 11 --scenario collision --election-timer 60s..120s --delay 1s "
      "--runs 10000");
}

void describe_sim_sync_clocks(CLI::App& command, SimSyncArguments& arguments) {
  command.add_option("--offset", arguments.offset, "clocks start within this of the master's")
      ->capture_default_str();
  command.add_option("--frequency", arguments.frequency, "and run within this of true time: 50ppm")
      ->capture_default_str();
  command
      .add_option("--wander", arguments.wander,
                  "random walk of their rates, per square root of a second")
      ->capture_default_str();
  command.add_option("--white", arguments.white, "white frequency noise, likewise")
      ->capture_default_str();
  command.add_option("--aging", arguments.aging, "of their rates, per second")
      ->capture_default_str();
  command
      .add_option("--temperature", arguments.temperature,
                  "how far a day's temperature moves their rates to each side")
      ->capture_default_str();
  command
      .add_option("--worse-half", arguments.worse_half,
                  "half of the clocks wander so many times more")
      ->capture_default_str();
  command.add_flag("--isolated", arguments.isolated,
                   "no clock is perfect; otherwise the first master's is");
}

void describe_sim_sync_accidents(CLI::App& command, SimSyncArguments& arguments) {
  command.add_option("--liars", arguments.liars,
                     "K:constant (10 ms), K:drifting (100 us a second), K:random (up to 10 ms), or "
                     "K:gone to compare with: they fall silent");
  command.add_flag("--lying-master", arguments.lying_master, "the first master is one of them");
  command
      .add_option("--lies-from", arguments.lies_from,
                  "second in which they begin; 0: in the middle of what is judged")
      ->capture_default_str();
  command.add_option("--kill-master-at", arguments.kill_master_at, "second of the master's death");
  command.add_option("--change-at", arguments.change_at,
                     "second of the changes below; in the middle of what is judged");
  command.add_option("--longer-up", arguments.longer_up, "the way up takes this much longer")
      ->capture_default_str();
  command.add_option("--later-jitter", arguments.later_jitter, "another load, both ways");
  command.add_option("--clock-jump", arguments.clock_jump, "of the first client's clock")
      ->capture_default_str();
  command.add_option("--rate-jump", arguments.rate_jump, "of its frequency")->capture_default_str();
  command
      .add_option("--diurnal", arguments.diurnal,
                  "in the middle of every hour queues are longer by this many times")
      ->capture_default_str();
  command
      .add_option("--churn", arguments.churn,
                  "every so many seconds a client crashes and returns a minute later; 0: never")
      ->capture_default_str();
}

void describe_sim_sync_utc(CLI::App& command, SimSyncArguments& arguments) {
  command
      .add_option("--trusted", arguments.trusted,
                  "so many clients carry UTC, right to 100 us; network time comes to it")
      ->capture_default_str();
  command
      .add_option("--utc-liars", arguments.utc_liars,
                  "so many of these are wrong by 100 ms and do not know it")
      ->capture_default_str();
  command.add_option("--leap-at", arguments.leap_at,
                     "second in which their kernels insert a leap second");
}

void describe_sim_sync(CLI::App& command, SimSyncArguments& arguments) {
  command.add_option("--clients", arguments.clients, "machines beside the master")
      ->capture_default_str();
  command.add_option("--delay", arguments.delay, "of every datagram, at least")
      ->capture_default_str();
  command
      .add_option("--jitter", arguments.jitter,
                  "and on top: exp:100us, normal:100us,20us, uniform:0us..100us, pareto:min,alpha")
      ->capture_default_str();
  command.add_option("--jitter-up", arguments.jitter_up, "towards the master, if different");
  command.add_option("--jitter-down", arguments.jitter_down, "from the master, if different");
  command.add_option("--loss", arguments.loss, "probability that a datagram is lost")
      ->capture_default_str();
  describe_sim_sync_clocks(command, arguments);
  command
      .add_option("--rate", arguments.rate,
                  "requests per second and client; a burst of three takes three turns")
      ->capture_default_str();
  command.add_option("--seconds", arguments.seconds, "simulated")->capture_default_str();
  command.add_option("--discard", arguments.discard, "at the start, not judged")
      ->capture_default_str();
  describe_sim_sync_accidents(command, arguments);
  describe_sim_sync_utc(command, arguments);
  describe_runs(command, arguments, "--seeds", arguments.seeds,
                "how many runs; the mean and the worst are shown");
  command.add_option("--html", arguments.html, "write the picture and the figures to this file");
  command.add_flag("--json", arguments.json, "for programs");
  command.footer(
      "Exit status: 0 done, 1 a bound did not hold the truth, 2 bad usage.\n\n"
      "Examples:\n"
      "  tempo sim sync --jitter exp:10us --seeds 5\n"
      "  tempo sim sync --clients 6 --liars 2:drifting --lying-master\n"
      "  tempo sim sync --kill-master-at 2500 --html killed.html\n"
      "  tempo sim sync --trusted 3 --utc-liars 1 --seconds 20000 --discard 10000\n"
      "  tempo sim sync --clients 7 --isolated --jitter exp:10us --json");
}

void describe_sim_capacity(CLI::App& command, SimCapacityArguments& arguments) {
  command
      .add_option("--algorithm", arguments.algorithm,
                  "a: all begin at once; b1: processes may stop; b2: some lie; b2-unordered: and "
                  "broadcasts come in any order; c: messages are lost")
      ->capture_default_str();
  command.add_option("--nodes", arguments.nodes, "processes of the group")->capture_default_str();
  command.add_option("--candidates", arguments.candidates, "how many of them stand; 0: all")
      ->capture_default_str();
  command.add_option("--loss", arguments.loss, "probability that a copy of a message is lost (c)")
      ->capture_default_str();
  command.add_option("--malicious", arguments.malicious, "how many lie (b2): nodes >= 3t + 1")
      ->capture_default_str();
  command.add_option("--crash", arguments.crash, "how many stop for ever during the election")
      ->capture_default_str();
  command.add_option("--pauses", arguments.pauses, "how many stand still for one to two T")
      ->capture_default_str();
  command.add_option("--bound", arguments.bound, "T: a broadcast is delivered within this")
      ->capture_default_str();
  command.add_option("--start-skew", arguments.start_skew,
                     "how far apart they begin at most [0s for a, T for the others]");
  command
      .add_option("--clock-error", arguments.clock_error, "how far apart their clocks are at most")
      ->capture_default_str();
  command.add_flag("--no-self-delivery", arguments.no_self_delivery,
                   "a process does not hear its own broadcasts");
  command
      .add_option("--broadcast", arguments.broadcast,
                  "ideal: the network keeps the promises of reliable broadcast; atomic: the atomic "
                  "broadcast machine does, on clocks up to 100us apart, messages taking up to 1ms")
      ->capture_default_str();
  command
      .add_option(
          "--criterion", arguments.criterion,
          "where capacities come from: random, id, equal, changing (during the election too)")
      ->capture_default_str();
  command.add_option("--variant", arguments.variant, "corrected, as-printed")
      ->capture_default_str();
  describe_runs(command, arguments, "--runs", arguments.runs, "how many elections");
  command.add_flag("--json", arguments.json, "for programs");
  command.footer(
      "Exit status: 0 done, 2 bad usage, 130 interrupted. Disagreement is an answer, not an "
      "error:\n"
      "many of these elections are asked to do without what they need.\n\n"
      "Examples:\n"
      "  tempo sim capacity --algorithm a --start-skew 1ms          # how often they disagree\n"
      "  tempo sim capacity --algorithm b2 --nodes 7 --malicious 2 --runs 100000\n"
      "  tempo sim capacity --algorithm c --nodes 2 --loss 0.3 --start-skew 0s --runs 100000");
}

void describe_lock_faults(CLI::App& command, SimLockArguments& arguments) {
  command.add_option("--loss", arguments.loss, "probability that a copy of a message is lost")
      ->capture_default_str();
  command
      .add_option("--late", arguments.late,
                  "probability that it takes up to four longest delays (lease: three leases) more")
      ->capture_default_str();
  command
      .add_option("--pauses", arguments.pauses,
                  "for each entry (lease: each second): a site stands still for a while")
      ->capture_default_str();
  command
      .add_option("--crashes", arguments.crashes,
                  "likewise: a site crashes, half of them just after a refusal, and restarts")
      ->capture_default_str();
  command
      .add_option("--partitions", arguments.partitions,
                  "likewise: the network is cut in two for a while")
      ->capture_default_str();
  command
      .add_option("--doubts", arguments.doubts,
                  "for each entry: all are told that the bounds do not hold, and they do not")
      ->capture_default_str();
}

void describe_sim_lock(CLI::App& command, SimLockArguments& arguments) {
  command
      .add_option("--kind", arguments.kind,
                  "mutex, rw: silence is consent; optimistic: readers try again; explicit: "
                  "everybody replies (Ricart and Agrawala); lease: a majority promises")
      ->capture_default_str();
  command.add_option("--sites", arguments.sites, "of the network")->capture_default_str();
  command.add_option("--contending", arguments.contending, "how many want the lock; 0: all")
      ->capture_default_str();
  command
      .add_option("--readers", arguments.readers,
                  "rw, lease: how many of these read; 0: half of rw, none of lease")
      ->capture_default_str();
  command.add_option("--gamma", arguments.gamma, "the shortest step by the longest")
      ->capture_default_str();
  command.add_option("--entries", arguments.entries, "how many")->capture_default_str();
  command
      .add_option("--handlers", arguments.handlers,
                  "serial: a site handles one message at a time; parallel: all at once")
      ->capture_default_str();
  command
      .add_option("--sleep", arguments.sleep,
                  "before a request, in whole passes; 0: none, and the most refusals")
      ->capture_default_str();
  command.add_flag("--outlive", arguments.outlive,
                   "a client stays inside when its site crashes, and the lock knows that it may");
  describe_lock_faults(command, arguments);
  command
      .add_option("--variant", arguments.variant,
                  "corrected, as-printed, printed-window, modulo, silent-second-timeout; lamport "
                  "(optimistic)")
      ->capture_default_str();
  describe_seed(command, arguments);
  describe_threads(command, arguments);
  command.add_flag("--json", arguments.json, "for programs");
  command.footer(
      "Steps take up to 10us, messages 100us to 1ms, holds up to 50 steps. A run has 10,000\n"
      "entries. Exit status: 0 done, 2 bad usage, 130 interrupted. A violation is an answer, not "
      "an\n"
      "error: many of these locks are asked to do without what they need.\n\n"
      "Examples:\n"
      "  tempo sim lock --crashes 0.3 --entries 1000000\n"
      "  tempo sim lock --kind explicit                             # twice the messages\n"
      "  tempo sim lock --variant as-printed --handlers parallel\n"
      "  tempo sim lock --loss 0.001                                # what silence is worth then\n"
      "  tempo sim lock --kind optimistic --gamma 0.1\n"
      "  tempo sim lock --kind lease --loss 0.1 --crashes 2         # rates are per second here");
}

void describe_sim_app(CLI::App& command, SimAppArguments& arguments) {
  command.add_option("name", arguments.name,
                     "group-server, load-balancing, replicated-data, crash-recovery, "
                     "group-joining, mutual-exclusion");
  command.add_option("--nodes", arguments.nodes, "processes of the group, 3 to 64")
      ->capture_default_str();
  command
      .add_option("--crash", arguments.crash,
                  "how many stop for ever, in the middle of what they do")
      ->capture_default_str();
  command
      .add_option("--loss", arguments.loss,
                  "probability that a datagram is lost; links repeat it, and T grows")
      ->capture_default_str();
  command
      .add_option("--variant", arguments.variant,
                  "corrected, or naive: as one writes it first, to see its promise broken")
      ->capture_default_str();
  describe_runs(command, arguments, "--runs", arguments.runs,
                "how many [1000; 1 with --trace or --diagram]");
  command.add_flag("--trace", arguments.trace, "print every message of one run");
  command.add_option("--diagram", arguments.diagram,
                     "space-time diagram of one run: an HTML file, or - for the terminal");
  command.add_flag("--json", arguments.json, "for programs");
  command.footer(
      "Each application is an election by capacity (B.1) with another criterion, on atomic\n"
      "broadcast. Its promise is checked from outside, in every run, under the fault that the\n"
      "naive version does not survive.\n\n"
      "Exit status: 0 done, 1 a promise was broken (a line to replay it is printed), 2 bad usage,\n"
      "130 interrupted.\n\n"
      "Examples:\n"
      "  tempo sim app                                            # which there are\n"
      "  tempo sim app mutual-exclusion --nodes 7 --runs 10000\n"
      "  tempo sim app replicated-data --variant naive            # a partition, and two truths\n"
      "  tempo sim app crash-recovery --crash 3 --diagram recovery.html");
}

void describe_replay(CLI::App& command, ReplayArguments& arguments) {
  command
      .add_option("file", arguments.file,
                  "what `tempo check ... --replay FILE` or `tempo trace follow > FILE` wrote")
      ->required();
  command.add_flag("--trace", arguments.trace, "print every event");
  command.add_option("--diagram", arguments.diagram, "an HTML file, or - for the terminal");
  command.add_flag("--json", arguments.json, "for programs");
  command.footer(
      "Examples:\n"
      "  tempo check election --variant no-loop --replay found && tempo sim replay found\n"
      "  tempo trace follow > today.trace\n"
      "  tempo sim replay today.trace --diagram today.html");
}

void describe_sim_ring(CLI::App& command, SimRingArguments& arguments) {
  command.add_option("--kind", arguments.kind, "equitable or anonymous")->capture_default_str();
  command.add_option("--stations", arguments.stations, "on the ring, 1 to 1024")
      ->capture_default_str();
  command.add_option("--range", arguments.range, "equitable: priorities are 1 to this")
      ->capture_default_str();
  command.add_option("--stages", arguments.stages, "anonymous: k, played with a claim")
      ->capture_default_str();
  command
      .add_option("--gamma", arguments.gamma,
                  "anonymous: rmin/rmax; stations are so different at most")
      ->capture_default_str();
  command.add_option("--loss", arguments.loss, "probability that a datagram is lost")
      ->capture_default_str();
  command.add_option("--duplicate", arguments.duplicate, "probability that it arrives twice")
      ->capture_default_str();
  command.add_option("--crash", arguments.crash, "stations that crash during the election")
      ->capture_default_str();
  command
      .add_option("--faulty", arguments.faulty,
                  "equitable: stations found faulty when they lead; then another is elected")
      ->capture_default_str();
  command.add_option("--candidates", arguments.candidates,
                     "anonymous: all wake up together, and so many draw 1 in the first phase");
  command.add_flag("--first-is-fast", arguments.first_is_fast,
                   "of these the first is as fast as gamma allows, all others slow");
  command.add_option("--variant", arguments.variant,
                     "equitable, ties-by-id, highest-id; corrected, printed-next-timer");
  describe_runs(command, arguments, "--runs", arguments.runs, "how many elections");
  command.add_flag("--fast", arguments.fast,
                   "rounds or phases alone, without machines: millions a second");
  command.add_option("--shard", arguments.shard, "do one part of several, as 2/4; then sim merge");
  command.add_flag("--trace", arguments.trace, "print every message and state of one run");
  command.add_option("--diagram", arguments.diagram,
                     "space-time diagram of one run: an HTML file, or - for the terminal");
  command.add_flag("--json", arguments.json, "for programs");
  command.footer(
      "Exit status: 0 done, 1 a promise was broken (a line to replay it is printed), 2 bad usage,\n"
      "130 interrupted.\n\n"
      "Examples:\n"
      "  tempo sim ring --stations 64 --runs 10000\n"
      "  tempo sim ring --stations 12 --crash 2 --loss 0.1 --runs 1000\n"
      "  tempo sim ring --kind anonymous --gamma 0.5 --stages 10 --runs 1000\n"
      "  tempo sim ring --stations 64 --runs 100000000 --fast --shard 1/2 --json > 1.json");
}

void describe_sim_merge(CLI::App& command, SimMergeArguments& arguments) {
  command.add_option("file", arguments.files, "what each shard printed with --json")->required();
  command.add_flag("--json", arguments.json, "for programs");
}

}  // namespace

void describe_sim_commands(CLI::App& app, std::function<int()>& run) {
  CLI::App& sim = *app.add_subcommand("sim", "run protocols in a simulated network");
  sim.require_subcommand(1);
  add_command(sim, run, "election", "the election of a master, once or many times",
              describe_sim_election, sim_election);
  add_command(sim, run, "capacity", "elections by capacity: A, B.1, B.2, C", describe_sim_capacity,
              sim_capacity);
  add_command(sim, run, "sync", "clocks of whole nodes, kept together", describe_sim_sync,
              sim_sync);
  add_command(sim, run, "replay", "play what a check has found; draw a trace", describe_replay,
              sim_replay);
  add_command(sim, run, "app", "what elections are for; without a name: a list", describe_sim_app,
              sim_app);
  add_command(sim, run, "lock", "locks, with what they stand on kept or broken", describe_sim_lock,
              sim_lock);
  add_command(sim, run, "ring", "elections on a ring, equitable or anonymous", describe_sim_ring,
              sim_ring);
  add_command(sim, run, "merge", "put the shards of one `sim ring` together", describe_sim_merge,
              sim_merge);
}

}  // namespace tempo::cli
