// Every mutation of leadership, and the simulation or scripted run that must fail because of it.
#include <string>

#include <gtest/gtest.h>

#include "lab/studies/group/group_run.h"
#include "mutation_suite.h"
#include "protocol/group/leadership_mutation.h"
#include "protocol/group/leadership_test_harness.h"

namespace tempo::sim::groups {
namespace {

using tempo::groups::LeadershipHarness;
using tempo::groups::Mutation;
using Kind = tempo::groups::Command::Kind;

// --- simulations ---

// The first violated property, or "nothing".
std::string broken_in(Setup setup, std::uint64_t seeds) {
  for (setup.seed = 1; setup.seed <= seeds; ++setup.seed) {
    const Outcome outcome = run(setup);
    if (outcome.together > 0) return "two at once";
    if (outcome.disorder > 0) return "token order";
    if (outcome.hasty > 0) return "min_stay";
    if (outcome.needless > 0) return "margin";
    if (!outcome.kept()) return "somebody leads";
  }
  return "nothing";
}

std::string crashes() { return broken_in({.faults = {.loss = 0.1, .crashes_per_s = 2}}, 4); }
std::string flapping() { return broken_in({.faults = {.flaps_per_s = 75}}, 6); }

// --- scripted runs ---

// A leader receives announcements of a better candidate for some seconds; does it step down?
std::string outdone_by(std::int64_t capacity, int seconds) {
  LeadershipHarness cluster;
  cluster.reign(100);
  cluster.pass(20s);
  for (int i = 0; i < seconds; ++i) {
    cluster.receive(2, {.capacity = capacity});
    cluster.pass(1s);
  }
  const std::string reply = cluster.receive(2, {.capacity = capacity, .asks = true});
  return reply.starts_with("stop") ? "replaced" : "nothing";
}
std::string slightly_better() { return outdone_by(105, 3); }
std::string equal() { return outdone_by(100, 3); }
std::string better_for_a_moment() { return outdone_by(200, 1); }

std::string elected_alone() {
  LeadershipHarness cluster;
  cluster.stand(100);
  cluster.pass(1s);
  return cluster.elected(5).find("lead") == std::string::npos ? "nothing"
                                                              : "leads by election alone";
}

std::string new_capacity() {
  LeadershipHarness cluster;
  cluster.stand(100);
  cluster.leads(3, 6);
  return cluster.offer(200).empty() ? "nothing" : "announces at once";
}

std::string dead_winner() {
  LeadershipHarness cluster;
  cluster.stand(100);
  cluster.receive(2, {.capacity = 200});
  cluster.pass(1s);
  cluster.elected(2);
  return cluster.pass(5s).find("ask") == std::string::npos ? "nobody asks" : "nothing";
}

std::string stale_message() {
  LeadershipHarness cluster;
  cluster.stand(100);
  cluster.leads(3, 9);
  cluster.leads(4, 8);
  return cluster.machine().leader() == NodeId{3} ? "nothing" : "follows a former leader";
}

// --- the table ---

constexpr MutationRow<Mutation> kRows[] = {
    {Mutation::leads_without_lease, "leads_without_lease", elected_alone},
    {Mutation::no_min_stay, "no_min_stay", flapping},
    {Mutation::no_margin, "no_margin", slightly_better},
    {Mutation::equal_unseats, "equal_unseats", equal},
    {Mutation::no_hold, "no_hold", better_for_a_moment},
    {Mutation::capacity_at_will, "capacity_at_will", new_capacity},
    {Mutation::passes_while_acting, "passes_while_acting", flapping},
    {Mutation::nobody_stands_by, "nobody_stands_by", dead_winner},
    {Mutation::follows_for_ever, "follows_for_ever", crashes},
    {Mutation::old_terms_believed, "old_terms_believed", stale_message},
};

const MutationSuite<Mutation> kSuite{"Leadership", kRows};

}  // namespace
}  // namespace tempo::sim::groups
