// Every mutation of the membership machine, and the worlds that must notice it.
#include "protocol/membership/membership_mutation.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "lab/studies/membership/membership_run.h"
#include "mutation_suite.h"

namespace tempo::sim::views {
namespace {

using membership::Mutation;

// The violated property, or "nothing".
std::string broken_in(Setup setup, std::uint64_t seeds) {
  for (setup.seed = 1; setup.seed <= seeds; ++setup.seed)
    if (const Outcome outcome = run(setup); !outcome.broken.empty())
      return outcome.broken.substr(0, outcome.broken.find(':'));
  return "nothing";
}

std::string a_lossy_world() {
  for (const std::uint32_t nodes : {2U, 3U, 4U, 5U}) {
    const std::string broken = broken_in(
        {.nodes = nodes, .loss = 0.2, .duplicates = 0.3, .most_delay = 1s, .wrong = 1, .faults = 60},
        60);
    if (broken != "nothing") return broken;
  }
  return "nothing";
}

constexpr MutationRow<Mutation> kRows[] = {
    {Mutation::no_lease, "no_lease", a_lossy_world},
    {Mutation::hold_from_receipt, "hold_from_receipt", a_lossy_world},
    {Mutation::no_rate_margin, "no_rate_margin", a_lossy_world},
    {Mutation::install_accepted, "install_accepted", a_lossy_world},
    {Mutation::ignore_pending, "ignore_pending", a_lossy_world},
    {Mutation::oldest_pending, "oldest_pending", a_lossy_world},
    {Mutation::promise_in_memory, "promise_in_memory", a_lossy_world},
    {Mutation::accept_in_memory, "accept_in_memory", a_lossy_world},
    {Mutation::no_abstention, "no_abstention", a_lossy_world},
    {Mutation::lower_ballot, "lower_ballot", a_lossy_world},
    {Mutation::accept_ungranted, "accept_ungranted", a_lossy_world},
    {Mutation::half_is_quorum, "half_is_quorum", a_lossy_world},
    {Mutation::new_view_ungranted, "new_view_ungranted", a_lossy_world},
    {Mutation::no_barrier, "no_barrier", a_lossy_world},
    {Mutation::main_after_lapse, "main_after_lapse", a_lossy_world},
    {Mutation::old_beacon_counts, "old_beacon_counts", a_lossy_world},
};
const MutationSuite<Mutation> kSuite{"Membership", kRows};

}  // namespace
}  // namespace tempo::sim::views
