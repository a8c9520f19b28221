// Named scenarios, and the outcome of a run.
//
// A scenario turns a Setup into an Experiment: a plan of faults that is complete before the run
// begins, so that it can be shrunk, written to a script and replayed. Unless the scenario is about
// the start, node 1 becomes master first and the study begins in a stable network.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lab/studies/election/cluster.h"
#include "lab/studies/election/costs.h"
#include "lab/studies/election/fault.h"

namespace tempo::sim::election {

enum class Scenario : std::uint8_t {
  start,            // all nodes start within one start-up time
  master_crash,     // the master dies; N = nodes - 1 survivors elect another
  two_candidates,   // ... and two of them become candidates at the same instant
  many_candidates,  // ... and all of them do
  missed_election,  // ... and one candidate's Election is lost on the way to another (section 5.2)
  newcomer_conflict,      // two masters meet and a newcomer receives answers of both (section 5.3)
  late_slave,             // a follower misses the new master and becomes a candidate (section 5.3)
  partition_heal,         // the network splits in two and heals
  crash_during_election,  // the candidate dies before it has won
  collision,              // fresh election timers: frequency of two expiring together (appendix)
  churn,                  // crashes, restarts, pauses and partitions, then no more faults
};
Result<Scenario> parse_scenario(std::string_view name);
std::string_view name_of(Scenario scenario);
std::vector<std::string_view> scenario_names();
std::uint32_t fewest_nodes(Scenario scenario);

enum class Measure : std::uint8_t {
  first_reign,  // until a node becomes master
  one_master,   // until there is one master and all nodes follow it
};

struct Experiment {
  Setup setup;
  std::vector<Fault> plan{};  // by time
  Instant study_from{};       // costs and times count from here
  Instant peace_from{};       // no fault is active after this
  // Time at which the masters are counted; the end of the run, if that is earlier, counts instead.
  Instant judge_at{};
  Measure measure = Measure::first_reign;
  Costs::Study study = Costs::Study::winner;
  std::vector<NodeId> joint_candidates{};  // candidates whose Elections are studied together
  Instant limit{};                         // there must be one master by then
};

// The scenario's plan for this seed, or an error: too few nodes, contradicting timers. `until` 0: a
// generous limit.
Result<Experiment> plan_of(Scenario scenario, const Setup& setup, Nanos until);

// Start of custom plans: when the study begins, between two Loops, node 1 is master and the others
// follow it; `spare` has not been started. Links have no faults until then. The caller may add
// faults.
Experiment settled(const Setup& setup, NodeId spare = kNobody);
// Sorts the plan and computes the end of the faults and the time limit.
void complete(Experiment& experiment, Nanos until = Nanos{0});

struct Outcome {
  std::uint64_t election_messages = 0;
  std::uint64_t repeats_sent = 0;
  std::array<std::uint64_t, tempo::election::kKinds> messages{};
  std::uint32_t masters = 0;  // when the run is judged
  bool ever_two_masters = false;
  bool reached = false;     // the measured event happened
  Nanos time_to_master{0};  // from study_from (first_reign) or peace_from (one_master)
  Nanos repair{0};          // several masters when judged: time until there was one
  bool collided = false;
  std::vector<Costs::Attempts> attempts;
  std::vector<NodeId> final_masters;
  std::size_t violation_count = 0;
  std::vector<Violation> violations;
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
};

// The end of every run: waits until there is one master and all nodes follow it, but not beyond the
// limit; then calms the links, waits until all nodes must be listed, and checks the properties of a
// network without faults. Returns the time at which there was one master; kNever: there was none.
// Calls `on_step` after every step.
Instant settle(Cluster& cluster, Instant limit, const std::function<void()>& on_step = {});

// Runs the experiment. A non-null `trace` receives the trace; `inspect` sees the cluster at the
// end.
Outcome run(const Experiment& experiment, Trace* trace = nullptr,
            const std::function<void(const Cluster&)>& inspect = {});

}  // namespace tempo::sim::election
