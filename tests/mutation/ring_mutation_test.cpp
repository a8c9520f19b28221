// Every mutation of the ring elections, and the check that must fail because of it.
#include "protocol/group/ring_mutation.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lab/check/explore.h"
#include "lab/studies/group/ring/anonymous.h"
#include "lab/studies/group/ring/equitable.h"
#include "lab/studies/group/ring/ring_models.h"
#include "machine/machine_harness.h"
#include "mutation_suite.h"

namespace tempo::sim::ring {
namespace {

using tempo::election::ring::Mutation;

constexpr std::size_t kMemory = std::size_t{256} << 20;  // for a search that would not terminate

bool keeps_properties(EquitableSetup setup, std::uint64_t seeds) {
  for (setup.seed = 1; setup.seed <= seeds; ++setup.seed)
    if (!run(setup).broken.empty()) return false;
  return true;
}

bool a_quiet_ring() { return keeps_properties({.stations = 5, .range = 2}, 20); }
bool a_ring_with_crashes() {
  return keeps_properties({.stations = 6, .range = 4, .crashes = 2}, 60);
}
bool an_anonymous_ring() {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    if (!run({.stations = 4, .stages = 2, .most_phases = 100, .seed = seed}).broken.empty())
      return false;
  return true;
}
// A single station that receives messages by hand: an election in which duplicates count, or in
// which messages overtake, may never end.
class Station : public MachineHarness<tempo::election::RingElection> {
 public:
  Station() : MachineHarness(BootTime{}) { make(NodeId{1}, Incarnation{2}, kRules); }

  // Returns true if the station sent a message of an election.
  bool receive(const Message& message) {
    MachineHarness::receive(NodeId{0}, message);
    return std::ranges::any_of(outputs(), [](const auto& output) {
      return output.kind == OutputKind::send && of_election(output.message.kind);
    });
  }
  tempo::election::ring::State state() const { return machine().state(); }

 private:
  static constexpr tempo::election::ring::EquitableRules kRules{
      .link = {.stations = 3, .courier = {{.interval = 1ms, .sends = 3}}}, .range = 2};
};

tempo::election::ring::Message priority_of(std::uint32_t number, Sequence sequence,
                                           Sequence after) {
  return {.kind = tempo::election::ring::Kind::priority,
          .life = Incarnation{1},
          .sequence = sequence,
          .after = after,
          .number = number,
          .id = NodeId{0},
          .priority = 1};
}

bool a_duplicate_changes_nothing() {
  Station station;
  const auto message = priority_of(1, Sequence{1}, kNoSequence);
  if (!station.receive(message)) return false;
  const auto state = station.state();
  return !station.receive(message) && station.state() == state;
}
bool an_overtaking_message_waits() {
  Station station;
  if (station.receive(priority_of(1, Sequence{2}, Sequence{1}))) return false;
  return station.receive(priority_of(1, Sequence{1}, kNoSequence));
}
bool an_old_election_is_ignored() {
  Station station;
  if (!station.receive(priority_of(2, Sequence{1}, kNoSequence))) return false;
  const auto state = station.state();
  return !station.receive(priority_of(1, Sequence{2}, Sequence{1})) && station.state() == state;
}
// The checker, in a world of two stations of which one may crash.
bool a_checked_ring() {
  const check::RingWorld world{.stations = 2, .wakers = 1, .budget = {.crashes = 1}};
  const check::EquitableModel model{.rules = {.link = link_rules(world), .range = 2},
                                    .elections = 3};
  std::vector<std::pair<NodeId, tempo::election::ring::Command>> commands;
  for (std::uint32_t i = 0; i < world.wakers; ++i)
    commands.emplace_back(NodeId{i}, tempo::election::ring::Command::wake);
  check::Space<check::EquitableModel> space(model, freedom_of(world), commands);
  return check::Search<check::EquitableModel>(space, {.memory = kMemory}).run().complete;
}

constexpr MutationRow<Mutation> kRows[] = {
    {Mutation::take_twice, "take_twice", a_duplicate_changes_nothing},
    {Mutation::take_out_of_order, "take_out_of_order", an_overtaking_message_waits},
    {Mutation::tie_loses, "tie_loses", a_quiet_ring},
    {Mutation::no_announcement, "no_announcement", a_quiet_ring},
    {Mutation::no_restart, "no_restart", a_ring_with_crashes},
    {Mutation::keep_lower_number, "keep_lower_number", an_old_election_is_ignored},
    {Mutation::swallow_next_time, "swallow_next_time", an_anonymous_ring},
    // Again, by the checker.
    {Mutation::tie_loses, "tie_loses_checked", a_checked_ring},
    {Mutation::no_restart, "no_restart_checked", a_checked_ring},
};

const MutationSuite<Mutation> kSuite{"Ring", kRows};

}  // namespace
}  // namespace tempo::sim::ring
