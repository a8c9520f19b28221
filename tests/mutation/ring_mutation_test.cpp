// Every mutation of the ring elections, and the check that must fail because of it.
#include "protocol/election/ring_mutation.h"

#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lab/check/explore.h"
#include "lab/check/ring/ring_models.h"
#include "lab/sim/ring/anonymous.h"
#include "lab/sim/ring/equitable.h"

namespace tempo::sim::ring {
namespace {

using tempo::election::ring::active_mutation;
using tempo::election::ring::Mutation;

bool keeps_promises(EquitableSetup setup, std::uint64_t seeds) {
  for (setup.seed = 1; setup.seed <= seeds; ++setup.seed)
    if (!run(setup).broken.empty()) return false;
  return true;
}

bool a_quiet_ring() { return keeps_promises({.stations = 5, .range = 2}, 20); }
bool a_lossy_ring() {
  return keeps_promises({.stations = 5, .range = 2, .loss = 0.2, .duplicate = 0.2}, 40);
}
bool a_ring_with_crashes() { return keeps_promises({.stations = 6, .range = 4, .crashes = 2}, 60); }
bool an_anonymous_ring() {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    if (!run({.stations = 4, .stages = 2, .most_phases = 100, .seed = seed}).broken.empty())
      return false;
  return true;
}
// The checker, in a world of two of which one may crash.
bool a_checked_ring() {
  const check::RingWorld world{.stations = 2, .wakers = 1, .budget = {.crashes = 1}};
  const check::EquitableModel model{.rules = {.link = link_rules(world), .range = 2},
                                    .elections = 3};
  std::vector<std::pair<NodeId, tempo::election::ring::Command>> commands;
  for (std::uint32_t i = 0; i < world.wakers; ++i)
    commands.emplace_back(NodeId{i}, tempo::election::ring::Command::wake);
  check::Space<check::EquitableModel> space(model, freedom_of(world), commands);
  return !check::Search<check::EquitableModel>(space, {}).run().violation.has_value();
}

struct Row {
  Mutation mutation;
  std::string_view name;
  bool (*caught_by)();
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

constexpr Row kRows[] = {
    {Mutation::take_twice, "take_twice", a_lossy_ring},
    {Mutation::take_out_of_order, "take_out_of_order", a_lossy_ring},
    {Mutation::tie_loses, "tie_loses", a_quiet_ring},
    {Mutation::no_announcement, "no_announcement", a_quiet_ring},
    {Mutation::no_restart, "no_restart", a_ring_with_crashes},
    {Mutation::keep_lower_number, "keep_lower_number", a_ring_with_crashes},
    {Mutation::swallow_next_time, "swallow_next_time", an_anonymous_ring},
    // And once more by the checker.
    {Mutation::tie_loses, "tie_loses_checked", a_checked_ring},
    {Mutation::no_restart, "no_restart_checked", a_checked_ring},
};

class RingMutations : public testing::TestWithParam<Row> {};

TEST_P(RingMutations, AreCaught) {
  active_mutation = Mutation::none;
  EXPECT_TRUE(GetParam().caught_by()) << "fails without a mutation";
  active_mutation = GetParam().mutation;
  EXPECT_FALSE(GetParam().caught_by()) << "nobody notices";
  active_mutation = Mutation::none;
}

INSTANTIATE_TEST_SUITE_P(All, RingMutations, testing::ValuesIn(kRows),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(RingMutationTable, HasEveryMutation) {
  for (int i = 1; i < static_cast<int>(Mutation::count); ++i) {
    bool listed = false;
    for (const Row& row : kRows) listed = listed || static_cast<int>(row.mutation) == i;
    EXPECT_TRUE(listed) << i;
  }
}

}  // namespace
}  // namespace tempo::sim::ring
