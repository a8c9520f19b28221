// Named situations, and how a run of one comes out.
//
// A scenario turns a Setup into an Experiment: a plan of faults that is complete before the run
// begins, so that it can be shrunk, written down and replayed. Unless it is about starting, node 1
// is made master first and the study begins when the network is quiet.
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
  start,            // all start within one start-up time
  master_crash,     // the master dies; N = nodes - 1 survivors elect another
  two_candidates,   // ... and two of them stand at the same instant
  many_candidates,  // ... and all of them do
  missed_election,  // ... and one candidate's Election is lost on the way to another (section 5.2)
  newcomer_conflict,      // two masters meet and a newcomer hears both (section 5.3)
  late_slave,             // a slave misses the new master and stands against it (section 5.3)
  partition_heal,         // the network splits in two and grows together again
  crash_during_election,  // the candidate dies before it has won
  collision,              // fresh election timers: how often do two run out together? (appendix)
  churn,                  // crashes, restarts, pauses, partitions, then peace
};
Result<Scenario> parse_scenario(std::string_view name);
std::string_view name_of(Scenario scenario);
std::vector<std::string_view> scenario_names();
std::uint32_t fewest_nodes(Scenario scenario);

enum class Measure : std::uint8_t {
  first_reign,  // until somebody becomes master
  one_master,   // until there is one master and all follow it
};

struct Experiment {
  Setup setup;
  std::vector<Fault> plan{};  // by time
  Instant study_from{};       // costs and times count from here
  Instant peace_from{};       // no fault acts after this
  Instant judge_at{};  // the masters of the run are counted here, or at its end if that is earlier
  Measure measure = Measure::first_reign;
  Costs::Study study = Costs::Study::winner;
  std::vector<NodeId> joint_candidates{};  // whose Elections are studied together
  Instant limit{};                         // by now there must be one master
};

// The scenario's plan for this seed, or why it cannot be: too few nodes, timers that contradict
// each other. `until` 0: as long as it may take.
Result<Experiment> plan_of(Scenario scenario, const Setup& setup, Nanos until);

// For plans of one's own: node 1 has become master and the others follow it when the study begins,
// between two Loops; `spare` has not been started. Links behave until then. Faults may be added.
Experiment settled(const Setup& setup, NodeId spare = kNobody);
// Sorts the plan and works out from it when peace begins and when patience ends.
void complete(Experiment& experiment, Nanos until = Nanos{0});

struct Outcome {
  std::uint64_t election_messages = 0;
  std::uint64_t repeats_sent = 0;
  std::array<std::uint64_t, tempo::election::kKinds> messages{};
  std::uint32_t masters = 0;  // when the run is judged
  bool ever_two_masters = false;
  bool reached = false;     // what is measured happened
  Nanos time_to_master{0};  // from study_from (first_reign) or peace_from (one_master)
  Nanos repair{0};          // if several masters were judged: until there was one
  bool collided = false;
  std::vector<Costs::Attempts> attempts;
  std::vector<NodeId> final_masters;
  std::size_t violation_count = 0;
  std::vector<Violation> violations;
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
};

// The end of every run: waits until there is one master and all follow it, but not beyond the
// limit; then calms the links, waits until all must be listed, and judges what is promised for a
// network at peace. Gives the instant at which there was one master, kNever if there was none.
// `on_step` is called after every step.
Instant settle(Cluster& cluster, Instant limit, const std::function<void()>& on_step = {});

// Runs it. The trace is kept in `trace` if one is given; `inspect` sees the stage when all is over.
Outcome run(const Experiment& experiment, Trace* trace = nullptr,
            const std::function<void(const Cluster&)>& inspect = {});

}  // namespace tempo::sim::election
