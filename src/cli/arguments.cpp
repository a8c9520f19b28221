#include "cli/arguments.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "cli/analyze.h"
#include "cli/check.h"
#include "cli/check_broadcast.h"
#include "cli/check_capacity.h"
#include "cli/check_lock.h"
#include "cli/check_ring.h"
#include "cli/clockdiff.h"
#include "cli/demo.h"
#include "cli/doctor.h"
#include "cli/exit_codes.h"
#include "cli/keygen.h"
#include "cli/lock.h"
#include "cli/arguments_locks.h"
#include "cli/master.h"
#include "cli/members.h"
#include "cli/now.h"
#include "cli/orders.h"
#include "cli/play.h"
#include "cli/set_time.h"
#include "cli/sim_app.h"
#include "cli/sim_capacity.h"
#include "cli/sim_election.h"
#include "cli/sim_lock.h"
#include "cli/sim_replay.h"
#include "cli/sim_ring.h"
#include "cli/sim_sync.h"
#include "cli/status.h"
#include "cli/trace.h"
#include "cli/wait_sync.h"
#include "cli/watch.h"
#include "lab/sim/election/scenario.h"
#include "tempo_version.h"

namespace tempo::cli {
namespace {

std::string scenario_list() {
  std::string list;
  for (const std::string_view name : sim::election::scenario_names())
    list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
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
  command.add_option("--seed", arguments.seed, "decides everything; run k of many has seed + k")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--runs", arguments.runs, "how many runs; statistics instead of one story")
      ->capture_default_str();
  command
      .add_option("--threads", arguments.threads,
                  "0: one for each core; results do not depend on it")
      ->capture_default_str();
  command.add_option("--until", arguments.until,
                     "simulated time by which there must be one master, for example 60s");
  command
      .add_option(
          "--variant", arguments.variant,
          "corrected, as-printed, or any of refuse-duplicate,no-loop,no-epoch,conflict-kills-both")
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
                     "K:constant (10 ms), K:drifting (100 us a second) or K:random (up to 10 ms)");
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
  command.add_option("--rate", arguments.rate, "requests per second and client, in bursts of two")
      ->capture_default_str();
  command.add_option("--seconds", arguments.seconds, "simulated")->capture_default_str();
  command.add_option("--discard", arguments.discard, "at the start, not judged")
      ->capture_default_str();
  describe_sim_sync_accidents(command, arguments);
  command.add_option("--seed", arguments.seed, "decides everything; run k of many has seed + k")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--seeds", arguments.seeds, "how many runs; the mean and the worst are shown")
      ->capture_default_str();
  command
      .add_option("--threads", arguments.threads,
                  "0: one for each core; results do not depend on it")
      ->capture_default_str();
  command.add_option("--html", arguments.html, "write the picture and the figures to this file");
  command.add_flag("--json", arguments.json, "for programs");
  command.footer(
      "Exit status: 0 done, 1 a bound did not hold the truth, 2 bad usage.\n\n"
      "Examples:\n"
      "  tempo sim sync --jitter exp:10us --seeds 5\n"
      "  tempo sim sync --clients 6 --liars 2:drifting --lying-master\n"
      "  tempo sim sync --kill-master-at 2500 --html killed.html\n"
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
  command.add_option("--seed", arguments.seed, "decides everything; run k of many has seed + k")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--runs", arguments.runs, "how many elections")->capture_default_str();
  command
      .add_option("--threads", arguments.threads,
                  "0: one for each core; results do not depend on it")
      ->capture_default_str();
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

void describe_sim_lock(CLI::App& sim, std::function<int()>& run) {
  auto arguments = std::make_shared<SimLockArguments>();
  CLI::App* command = sim.add_subcommand("lock", "locks, with what they stand on kept or broken");
  command
      ->add_option("--kind", arguments->kind,
                   "mutex, rw: silence is consent; optimistic: readers try again; explicit: "
                   "everybody replies (Ricart and Agrawala); lease: a majority promises")
      ->capture_default_str();
  command->add_option("--sites", arguments->sites, "of the network")->capture_default_str();
  command->add_option("--contending", arguments->contending, "how many want the lock; 0: all")
      ->capture_default_str();
  command
      ->add_option("--readers", arguments->readers,
                   "rw, lease: how many of these read; 0: half of rw, none of lease")
      ->capture_default_str();
  command->add_option("--gamma", arguments->gamma, "the shortest step by the longest")
      ->capture_default_str();
  command->add_option("--entries", arguments->entries, "how many")->capture_default_str();
  command
      ->add_option("--handlers", arguments->handlers,
                   "serial: a site handles one message at a time; parallel: all at once")
      ->capture_default_str();
  command
      ->add_option("--sleep", arguments->sleep,
                   "before a request, in whole passes; 0: none, and the most refusals")
      ->capture_default_str();
  command->add_flag("--outlive", arguments->outlive,
                    "a client stays inside when its site crashes, and the lock knows that it may");
  describe_lock_faults(*command, *arguments);
  command
      ->add_option("--variant", arguments->variant,
                   "corrected, as-printed, modulo, silent-second-timeout; lamport (optimistic)")
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "decides everything; run k has seed + k")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--threads", arguments->threads,
                   "0: one for each core; results do not depend on it")
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "for programs");
  command->footer(
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
  command->callback([&run, arguments] { run = [=] { return sim_lock(*arguments); }; });
}

void describe_sim_app(CLI::App& sim, std::function<int()>& run) {
  auto arguments = std::make_shared<SimAppArguments>();
  CLI::App* command = sim.add_subcommand("app", "what elections are for; without a name: a list");
  command->add_option("name", arguments->name,
                      "group-server, load-balancing, replicated-data, crash-recovery, "
                      "group-joining, mutual-exclusion");
  command->add_option("--nodes", arguments->nodes, "processes of the group, 3 to 64")
      ->capture_default_str();
  command
      ->add_option("--crash", arguments->crash,
                   "how many stop for ever, in the middle of what they do")
      ->capture_default_str();
  command
      ->add_option("--loss", arguments->loss,
                   "probability that a datagram is lost; links repeat it, and T grows")
      ->capture_default_str();
  command
      ->add_option("--variant", arguments->variant,
                   "corrected, or naive: as one writes it first, to see its promise broken")
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "decides everything; run k of many has seed + k")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--runs", arguments->runs, "how many [1000; 1 with --trace or --diagram]");
  command
      ->add_option("--threads", arguments->threads,
                   "0: one for each core; results do not depend on it")
      ->capture_default_str();
  command->add_flag("--trace", arguments->trace, "print every message of one run");
  command->add_option("--diagram", arguments->diagram,
                      "space-time diagram of one run: an HTML file, or - for the terminal");
  command->add_flag("--json", arguments->json, "for programs");
  command->footer(
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
  command->callback([&run, arguments] { run = [=] { return sim_app(*arguments); }; });
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
                  "conflict-kills-both, separated by commas")
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

void describe_demo(CLI::App& command, DemoArguments& arguments) {
  command.add_option("--machines", arguments.machines, "3 to 9 daemons")->capture_default_str();
  command.add_option("--seconds", arguments.seconds, "how long the show takes")
      ->check(CLI::Range(5.0, 600.0))
      ->capture_default_str();
  command.add_option("--profile", arguments.profile, "timers: lan or fast")->capture_default_str();
  command.add_option("--port", arguments.port, "UDP port on the loopback network")
      ->capture_default_str();
  command.add_option("--tempod", arguments.tempod, "the daemon; by default the one beside tempo");
  command.add_flag("--plain", arguments.plain, "lines instead of a moving picture");
  command.footer(
      "Ordinary processes on 127.0.0.0/8 with software clocks; nothing of the machine is touched\n"
      "and nothing is left running. The last line is a summary.\n\n"
      "Exit status: 0 it went as it should, 1 it did not, 2 bad usage, 130 interrupted.\n\n"
      "Examples:\n"
      "  tempo demo\n"
      "  tempo demo --seconds 20 --plain\n"
      "  tempo demo --profile fast --machines 9");
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

// --- commands that talk to tempod ---

constexpr const char* kDaemonStatuses =
    "Exit status: 0 done, 1 what was asked about does not hold, 2 bad usage, 3 tempod cannot be\n"
    "reached, 4 tempod refuses, 130 interrupted.";

void describe_daemon(CLI::App& command, DaemonArguments& arguments, const std::string& examples) {
  command.add_option("--socket", arguments.socket, "where tempod listens")
      ->envname("TEMPO_SOCKET")
      ->capture_default_str();
  command.add_option("--patience", arguments.patience, "how long to wait for its answer")
      ->capture_default_str();
  command.add_flag("--json", arguments.json, "for programs");
  command.footer(std::string(kDaemonStatuses) + "\n\nExamples:\n" + examples);
}

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
                  "  tempo wait-sync --timeout 2min --within 500us && start-the-recorder");
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
}

// --- rings ---

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
  command.add_option("--seed", arguments.seed, "decides everything; run k of many has seed + k")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--runs", arguments.runs, "how many elections")->capture_default_str();
  command
      .add_option("--threads", arguments.threads,
                  "0: one for each core; results do not depend on it")
      ->capture_default_str();
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
                  "corrected, as-printed, modulo, silent-second-timeout")
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

void describe_analyze(CLI::App& app, std::function<int()>& run) {
  CLI::App* analyze_command =
      app.add_subcommand("analyze", "the exact mathematics of elections, for any numbers");
  analyze_command->require_subcommand(1);

  auto ring = std::make_shared<AnalyzeRingArguments>();
  CLI::App* ring_command =
      analyze_command->add_subcommand("ring", "rounds of the equitable ring, exactly");
  ring_command->add_option("--stations", ring->stations, "1 to 512")->capture_default_str();
  ring_command->add_option("--range", ring->range, "priorities are 1 to this")
      ->capture_default_str();
  ring_command->add_option("--rounds", ring->rounds, "k, or from..to")->capture_default_str();
  ring_command->add_option("--moments", ring->moments, "up to this order")->capture_default_str();
  ring_command->add_flag("--chains", ring->chains,
                         "with --json: how many assignments have how many chains");
  ring_command->add_flag("--json", ring->json, "for programs");
  ring_command->callback([&run, ring] { run = [=] { return analyze_ring(*ring); }; });

  auto anonymous = std::make_shared<AnalyzeAnonymousArguments>();
  CLI::App* anonymous_command = analyze_command->add_subcommand(
      "anonymous-ring", "how often candidates in step are all elected, exactly");
  anonymous_command->add_option("--stages", anonymous->stages, "k")->capture_default_str();
  anonymous_command->add_option("--candidates", anonymous->candidates, "that go in step")
      ->capture_default_str();
  anonymous_command->add_option("--stations", anonymous->stations,
                                "say how a phase of so many begins, too");
  anonymous_command->add_flag("--json", anonymous->json, "for programs");
  anonymous_command->callback(
      [&run, anonymous] { run = [=] { return analyze_anonymous_ring(*anonymous); }; });

  auto collision = std::make_shared<AnalyzeCollisionArguments>();
  CLI::App* collision_command = analyze_command->add_subcommand(
      "collision", "how often two of N election timers run out together, exactly");
  collision_command->add_option("--daemons", collision->daemons, "N")->capture_default_str();
  collision_command
      ->add_option("--window", collision->window, "within so much: 10ms, or seconds: 0.01, 1/100")
      ->required();
  collision_command->add_option("--width", collision->width, "of the interval they are drawn from")
      ->required();
  collision_command->add_flag("--json", collision->json, "for programs");
  collision_command->callback(
      [&run, collision] { run = [=] { return analyze_collision(*collision); }; });

  auto chain = std::make_shared<AnalyzeAlgorithmCArguments>();
  CLI::App* chain_command = analyze_command->add_subcommand(
      "algorithm-c", "rounds of the election by capacity C, exactly");
  chain_command->add_option("--loss", chain->loss, "probability of a message's loss: 3/10 or 0.3")
      ->capture_default_str();
  chain_command
      ->add_option("--candidates", chain->candidates, "at the beginning: a or a..b, up to 64")
      ->capture_default_str();
  chain_command->add_flag("--json", chain->json, "for programs");
  chain_command->callback([&run, chain] { run = [=] { return analyze_algorithm_c(*chain); }; });
}

void describe_rings(CLI::App& sim, CLI::App& check, std::function<int()>& run) {
  auto ring = std::make_shared<SimRingArguments>();
  CLI::App* ring_command =
      sim.add_subcommand("ring", "elections on a ring, equitable or anonymous");
  describe_sim_ring(*ring_command, *ring);
  ring_command->callback([&run, ring] { run = [=] { return sim_ring(*ring); }; });

  auto merge = std::make_shared<SimMergeArguments>();
  CLI::App* merge_command =
      sim.add_subcommand("merge", "put the shards of one `sim ring` together");
  merge_command->add_option("file", merge->files, "what each shard printed with --json")
      ->required();
  merge_command->add_flag("--json", merge->json, "for programs");
  merge_command->callback([&run, merge] { run = [=] { return sim_merge(*merge); }; });

  auto checked = std::make_shared<CheckRingArguments>();
  CLI::App* check_command =
      check.add_subcommand("ring", "elections on a ring, the machines that ship");
  describe_check_ring(*check_command, *checked);
  check_command->callback([&run, checked] { run = [=] { return check_ring(*checked); }; });
}

void describe_other_checks(CLI::App& check, std::function<int()>& run) {
  auto capacity = std::make_shared<CheckCapacityArguments>();
  CLI::App* capacity_command =
      check.add_subcommand("capacity", "elections by capacity, the machines that ship");
  describe_check_capacity(*capacity_command, *capacity);
  capacity_command->callback([&run, capacity] { run = [=] { return check_capacity(*capacity); }; });

  auto broadcast = std::make_shared<CheckBroadcastArguments>();
  CLI::App* broadcast_command =
      check.add_subcommand("broadcast", "atomic broadcast on clocks that agree");
  describe_check_broadcast(*broadcast_command, *broadcast);
  broadcast_command->callback(
      [&run, broadcast] { run = [=] { return check_broadcast(*broadcast); }; });

  auto lock = std::make_shared<CheckLockArguments>();
  CLI::App* lock_command = check.add_subcommand("lock", "locks of known time, and leases");
  describe_check_lock(*lock_command, *lock);
  lock_command->callback([&run, lock] { run = [=] { return check_lock(*lock); }; });
}

void describe_keygen(CLI::App& app, std::function<int()>& run) {
  auto arguments = std::make_shared<KeygenArguments>();
  CLI::App* command = app.add_subcommand("keygen", "write a key for the cluster, mode 0600");
  command->add_option("file", arguments->file, "where to; - prints it")->capture_default_str();
  command->add_flag("--force", arguments->force, "replace the file that is there");
  command->add_flag("--add", arguments->add,
                    "change keys: the new one comes first, the old one stays valid");
  command->add_flag("--json", arguments->json, "for programs");
  command->footer(
      "Exit status: 0 written, 2 nothing was written.\n\n"
      "Examples:\n"
      "  sudo tempo keygen\n"
      "  sudo tempo keygen --add       then copy the file everywhere and reload tempod");
  command->callback([&run, arguments] { run = [=] { return keygen(*arguments); }; });
}

}  // namespace

int run_command_line(int count, char** words) {
  CLI::App app(
      "tempo: one time, one leader, one lock, for a network of machines with no server to set up.",
      "tempo");
  app.set_version_flag("--version", std::string("tempo ") + kTempoVersion);
  app.require_subcommand(1);
  app.footer("tempo COMMAND --help says more about each.");

  DemoArguments demo_arguments;
  CLI::App* demo_command =
      app.add_subcommand("demo", "real daemons on this machine: they agree, lose a master, go on");
  describe_demo(*demo_command, demo_arguments);

  PlayArguments play_arguments;
  CLI::App* play_command = app.add_subcommand("play", "watch a small election in the terminal");
  play_command->add_option("--nodes", play_arguments.nodes, "3 to 20 machines")
      ->capture_default_str();
  play_command->add_option("--seed", play_arguments.seed, "another seed, another story")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  play_command
      ->add_option("--seconds", play_arguments.seconds, "how long the show takes on a terminal")
      ->check(CLI::Range(0.0, 600.0))
      ->capture_default_str();
  play_command->add_flag("--plain", play_arguments.plain, "lines instead of a moving picture");

  SimElectionArguments election_arguments;
  CLI::App* sim_command = app.add_subcommand("sim", "run protocols in a simulated network");
  sim_command->require_subcommand(1);
  CLI::App* election_command =
      sim_command->add_subcommand("election", "the election of a master, once or many times");
  describe_sim_election(*election_command, election_arguments);

  SimCapacityArguments capacity_arguments;
  CLI::App* capacity_command =
      sim_command->add_subcommand("capacity", "elections by capacity: A, B.1, B.2, C");
  describe_sim_capacity(*capacity_command, capacity_arguments);

  SimSyncArguments sync_arguments;
  CLI::App* sync_command =
      sim_command->add_subcommand("sync", "clocks of whole nodes, kept together");
  describe_sim_sync(*sync_command, sync_arguments);

  ReplayArguments replay_arguments;
  CLI::App* replay_command =
      sim_command->add_subcommand("replay", "play what a check has found; draw a trace");
  describe_replay(*replay_command, replay_arguments);

  CLI::App* check_command =
      app.add_subcommand("check", "look at every interleaving of a small world");
  check_command->require_subcommand(1);
  CheckElectionArguments check_arguments;
  CLI::App* check_election_command =
      check_command->add_subcommand("election", "the election of a master, the machine that ships");
  describe_check_election(*check_election_command, check_arguments);
  CheckCoreArguments core_arguments;
  CLI::App* core_command =
      check_command->add_subcommand("core-model", "a yardstick whose state counts are known");
  describe_check_core_model(*core_command, core_arguments);

  std::function<int()> run;
  describe_daemon_commands(app, run);
  describe_keygen(app, run);
  describe_lock_commands(app, run);
  describe_sim_app(*sim_command, run);
  describe_sim_lock(*sim_command, run);
  describe_rings(*sim_command, *check_command, run);
  describe_other_checks(*check_command, run);
  describe_analyze(app, run);

  try {
    app.parse(count, words);
  } catch (const CLI::ParseError& stop) {
    // Help and version end well; anything else is a question we cannot answer.
    return app.exit(stop) == 0 ? kDone : kBadUsage;
  }
  if (demo_command->parsed()) return demo(demo_arguments);
  if (run) return run();
  if (play_command->parsed()) return play(play_arguments);
  if (check_election_command->parsed()) return check_election(check_arguments);
  if (core_command->parsed()) return check_core_model(core_arguments);
  if (capacity_command->parsed()) return sim_capacity(capacity_arguments);
  if (sync_command->parsed()) return sim_sync(sync_arguments);
  if (replay_command->parsed()) return sim_replay(replay_arguments);
  return sim_election(election_arguments);
}

}  // namespace tempo::cli
