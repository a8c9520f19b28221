// Every mutation of the elections by capacity, and every row that can be removed from one of their
// tables, with the check that must fail because of it.
#include "protocol/group/capacity_mutation.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "lab/check/explore.h"
#include "lab/studies/group/capacity_model.h"
#include "lab/studies/group/capacity_run.h"
#include "mutation_suite.h"

namespace tempo::check {
namespace {

using Algorithm = CapacityAlgorithm;
using election::capacity::Mutation;
namespace a = election::capacity_a;
namespace b1 = election::capacity_b1;
namespace b2 = election::capacity_b2;
namespace c = election::capacity_c;

constexpr std::size_t kMemory = std::size_t{256} << 20;  // for a search that would not terminate

// --- checks ---

// The violated property, or "nothing" if all states were explored without one.
std::string broken_in(const CapacityWorld& world) {
  const Finding finding = in_space(world, []<class Model>(Space<Model>& space) {
    return Search<Model>(space, {.memory = kMemory}).run();
  });
  if (finding.violation) return finding.violation->property;
  return finding.complete ? "nothing" : finding.stopped;
}

std::string a_sound() { return broken_in({.algorithm = Algorithm::a}); }
std::string b1_any_time() { return broken_in({.algorithm = Algorithm::b1}); }
std::string b1_together() { return broken_in({.algorithm = Algorithm::b1, .together = true}); }
std::string b1_crash() { return broken_in({.algorithm = Algorithm::b1, .budget = {.crashes = 1}}); }
std::string b2_any_time() { return broken_in({.algorithm = Algorithm::b2}); }
std::string b2_together() { return broken_in({.algorithm = Algorithm::b2, .together = true}); }
std::string b2_byzantine() {
  return broken_in({.algorithm = Algorithm::b2, .nodes = 4, .candidates = 1, .malicious = 1});
}
// A Byzantine process that sends reports about the next election, in the simulator.
std::string b2_byzantine_next() {
  sim::capacity::Setup setup{
      .algorithm = sim::capacity::Algorithm::b2, .nodes = 4, .candidates = 3, .malicious = 1};
  setup.start_skew = setup.bound;
  for (setup.seed = 1; setup.seed <= 300; ++setup.seed)
    if (!run(setup).unique) return "unique";
  return "nothing";
}
std::string c_any_time() { return broken_in({.algorithm = Algorithm::c}); }
std::string c_together() { return broken_in({.algorithm = Algorithm::c, .together = true}); }
std::string c_two_losses() {
  return broken_in(
      {.algorithm = Algorithm::c, .nodes = 2, .together = true, .budget = {.losses = 2}});
}

// --- the tables ---

constexpr MutationRow<Mutation> kMutations[] = {
    {Mutation::worst_wins, "worst_wins", a_sound},
    {Mutation::tie_to_lower, "tie_to_lower", a_sound},
    {Mutation::collect_for_t, "collect_for_t", b1_any_time},
    {Mutation::all_reports_count, "all_reports_count", b2_byzantine},
    {Mutation::one_report_is_enough, "one_report_is_enough", b2_byzantine},
    {Mutation::leave_for_next, "leave_for_next", b2_byzantine_next},
};

// Rows removed from a table. With one order for all processes a bid precedes every report, so that
// no property needs row 8a of B.2 in the phase normal. Of C only rows whose absence few losses
// reveal: without some of the others a search does not terminate.
constexpr MutationRow<const void*> kMissing[] = {
    {&a::kRows[0], "a_1", a_sound, "no-dead-end"},
    {&a::kRows[1], "a_2", a_sound, "best-wins"},
    {&a::kRows[2], "a_3", a_sound, "phase and timer do not match"},
    {&b1::kRows[0], "b1_1", b1_together, "no-dead-end"},
    {&b1::kRows[1], "b1_2", b1_any_time, "best-wins"},
    {&b1::kRows[2], "b1_3", b1_any_time, "no-dead-end"},
    {&b1::kRows[3], "b1_5", b1_any_time, "best-wins"},
    {&b1::kRows[4], "b1_6a", b1_together, "one-election"},
    {&b1::kRows[5], "b1_6", b1_any_time, "collects bids without a timer"},
    {&b1::kRows[6], "b1_8a", b1_crash, "no-dead-end"},
    {&b1::kRows[7], "b1_8b", b1_crash, "no-dead-end"},
    {&b1::kRows[8], "b1_9a", b1_crash, "no-dead-end"},
    {&b2::kRows[0], "b2_1", b2_together, "no-dead-end"},
    {&b2::kRows[1], "b2_2", b2_any_time, "best-wins"},
    {&b2::kRows[2], "b2_3", b2_any_time, "no-dead-end"},
    {&b2::kRows[3], "b2_5", b2_byzantine, "unique"},
    {&b2::kRows[4], "b2_5a", b2_byzantine, "unique"},
    {&b2::kRows[5], "b2_6", b2_any_time, "phase and timer do not match"},
    {&b2::kRows[6], "b2_8", b2_byzantine, "unique"},
    {&b2::kRows[8], "b2_8a_coll1", b2_byzantine, "unique"},
    {&b2::kRows[9], "b2_9", b2_any_time, "phase and timer do not match"},
    {&c::kRows[0], "c_1", c_together, "no-dead-end"},
    {&c::kRows[1], "c_2", c_any_time, "best-wins"},
    {&c::kRows[5], "c_6", c_two_losses, "one-master"},
    {&c::kRows[6], "c_6a_elected", c_any_time, "no-help"},
    {&c::kRows[13], "c_9", c_two_losses, "one-master"},
    {&c::kRows[15], "c_11", c_any_time, "phase and timer do not match"},
    {&c::kRows[20], "c_16", c_any_time, "no-help"},
    {&c::kRows[26], "c_21", c_any_time, "phase and timer do not match"},
};

const MutationSuite<Mutation> kMutationSuite{"Capacity", kMutations};
const MutationSuite<const void*> kMissingSuite{"CapacityRow", kMissing};

TEST(CapacityRows, OfAAndBAreAllListed) {
  const auto unlisted = [](const auto& table) {
    return std::ranges::count_if(table, [](const auto& row) {
      return std::ranges::find(kMissing, &row, &MutationRow<const void*>::fault) ==
             std::end(kMissing);
    });
  };
  EXPECT_EQ(unlisted(a::kRows), 0);
  EXPECT_EQ(unlisted(b1::kRows), 0);
  EXPECT_EQ(unlisted(b2::kRows), 1);  // 8a in the phase normal
}

}  // namespace
}  // namespace tempo::check
