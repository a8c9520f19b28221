// Properties of lease locks in simulation, under every kind of fault.
#include "lab/studies/lock/lease_run.h"

#include <cstdlib>
#include <utility>

#include <gtest/gtest.h>

#include "protocol/lock/lease/lease_message.h"

namespace tempo::sim::lease {
namespace {

using tempo::lock::lease::Kind;
using tempo::lock::lease::TwoNode;

bool soak() { return std::getenv("TEMPO_SOAK") != nullptr; }

constexpr Faults kEverything{.loss = 0.05,
                             .duplicate = 0.05,
                             .late = 0.02,
                             .crashes_per_s = 1,
                             .blackouts_per_s = 0.1,
                             .pauses_per_s = 2,
                             .partitions_per_s = 0.7};

// Runs the seeds from 1 to `seeds` and adds up their outcomes.
Outcome runs(Setup setup, std::uint64_t seeds) {
  Outcome all;
  for (setup.seed = 1; setup.seed <= seeds; ++setup.seed) {
    const Outcome one = run(setup);
    EXPECT_TRUE(one.kept()) << "seed " << setup.seed << ": " << one.tally.violations
                            << " violations, " << one.tally.token_disorder << " disorder, "
                            << one.tally.deadlocks << " deadlocks, " << one.blocked << " blocked, "
                            << one.revivals << " revivals, "
                            << (one.broken == nullptr ? "" : one.broken);
    all.add(one);
  }
  return all;
}

std::uint64_t sent_messages(const Outcome& outcome, Kind kind) {
  return outcome.sent[std::to_underlying(kind)];
}

TEST(SimLease, ServesAllWithoutFaults) {
  const Outcome all = runs({.entries = 5'000}, 3);
  EXPECT_GE(all.tally.entries, 15'000U);
  EXPECT_LT(all.tally.fairness(), 1.1);
  EXPECT_EQ(all.lost, 0U);
  EXPECT_EQ(sent_messages(all, Kind::query), 0U);
}

TEST(SimLease, ToleratesLoss) { runs({.faults = {.loss = 0.3}}, 5); }
TEST(SimLease, ToleratesDuplicates) { runs({.faults = {.duplicate = 0.5}}, 5); }
TEST(SimLease, ToleratesLateMessages) { runs({.faults = {.late = 0.3}}, 5); }
TEST(SimLease, ToleratesCrashes) { runs({.faults = {.crashes_per_s = 3}}, 5); }
TEST(SimLease, ToleratesBlackouts) { runs({.faults = {.blackouts_per_s = 2}}, 5); }
TEST(SimLease, ToleratesPauses) { runs({.faults = {.pauses_per_s = 10}}, 5); }
TEST(SimLease, ToleratesPartitions) { runs({.faults = {.partitions_per_s = 3}}, 5); }

TEST(SimLease, ToleratesAllFaultsTogether) {
  const Outcome all = runs(
      {.readers = 0.5, .deaths = 0.05, .entries = 2'000, .long_stays = 0.05, .faults = kEverything},
      10);
  EXPECT_GT(all.lost + all.deadlines, 0U);  // otherwise the run tests nothing
}

TEST(SimLease, ToleratesAllFaultsWithFiveSites) {
  runs({.sites = 5, .contending = 5, .readers = 0.5, .long_stays = 0.05, .faults = kEverything}, 5);
}

// Leases of a quarter to three times the default length, mixed in one lock.
TEST(SimLease, AllowsDifferentLeaseLengths) {
  lease::Setup setup{.readers = 0.3,
                     .deaths = 0.05,
                     .entries = 2'000,
                     .long_stays = 0.1,
                     .other_lengths = 0.7,
                     .faults = kEverything};
  setup.rules.longest = 3 * setup.rules.lease;
  const Outcome all = runs(setup, 10);
  EXPECT_GT(all.lost + all.deadlines, 0U);
  setup.sites = setup.contending = 5;
  runs(setup, 3);
}

// Members without a vote ask, wait, hold and hand over like the others.
TEST(SimLease, ThreeVotersServeTwentyOthers) {
  lease::Setup setup{.sites = 23, .voters = 3, .contending = 23, .clients = 1, .entries = 400};
  const Outcome peace = runs(setup, 1);
  EXPECT_LT(peace.tally.fairness(), 1.3);
  setup.readers = 0.3;
  setup.entries = 150;
  setup.faults = kEverything;
  runs(setup, 2);
}

// Members gain and lose votes while all other faults happen.
TEST(SimLease, ToleratesViewChanges) {
  lease::Setup setup{.sites = 5, .voters = 3, .contending = 5, .readers = 0.3};
  setup.faults.changes_per_s = 5;
  EXPECT_GT(runs(setup, 3).views, 10U);
  setup.faults = kEverything;
  setup.faults.changes_per_s = 5;
  EXPECT_GT(runs(setup, 10).views, 40U);
}

TEST(SimLease, ManyLocksShareOneRecord) {
  runs({.locks = 6, .clients = 1, .readers = 0.3, .entries = 3'000, .faults = kEverything}, 3);
}

TEST(SimLease, SuppressedRepliesSuffice) {
  lease::Setup setup{.sites = 5, .contending = 5, .readers = 0.3, .faults = kEverything};
  setup.rules.suppress_replies = true;
  runs(setup, 5);
}

// Section 11: safe exactly as long as the bound on network time is true.
TEST(SimLease, TrustsNetworkTimeWithinItsBound) {
  lease::Setup setup{.entries = 500,
                     .stay = 20ms,
                     .time_bound = 200us,
                     .faults = {.loss = 0.1, .late = 0.3, .crashes_per_s = 3, .pauses_per_s = 5}};
  setup.rules.trust_time = true;
  runs(setup, soak() ? 500 : 10);
  setup.time_error = 30;
  std::uint64_t violations = 0;
  for (setup.seed = 1; setup.seed <= 200 && violations == 0; ++setup.seed)
    violations += run(setup).tally.violations;
  EXPECT_GT(violations, 0U);
}

TEST(SimLease, ToleratesLostDisks) {
  Faults faults = kEverything;
  faults.blackouts_per_s = 0;  // two lost disks at once are outside the model
  faults.crashes_per_s = 0.5;
  faults.lost_disks = 0.5;
  runs({.sites = 5, .contending = 3, .fresh_disks = true, .faults = faults}, 10);
}

// The members forget the lock between two requests. Regression: a stale message then repeated a
// hand-over whose lease had been used and released, and tokens went backwards.
TEST(SimLease, StaleMessagesDoNotReviveForgottenLocks) {
  runs({.clients = 1,
        .entries = 300,
        .think = 60ms,
        .network_time = false,
        .faults = {.loss = 0.3, .duplicate = 0.5, .late = 0.5}},
       40);
}

TEST(SimLease, TwoMemberPolicies) {
  lease::Setup setup{.sites = 2, .contending = 2, .readers = 0.3, .faults = kEverything};
  for (const TwoNode policy : {TwoNode::strict, TwoNode::preferred}) {
    setup.policy = policy;
    runs(setup, 3);
  }
  setup.policy = TwoNode::witness;
  setup.sites = 3;
  runs(setup, 3);
}

// Daemons restart while their clients are inside. With no other fault most of the clients get their
// locks back, as long as the daemon is back before their deadlines.
TEST(SimLease, ClientsResumeAfterRestarts) {
  const Outcome all = runs({.readers = 0.4,
                            .entries = 2'000,
                            .stay = 20ms,
                            .long_stays = 0.2,
                            .resume = 0.9,
                            .hang_ups = 0.3,
                            .faults = {.crashes_per_s = 10}},
                           6);
  EXPECT_GT(all.orphans, 500U);
  EXPECT_GT(all.resumes, all.orphans / 3);
}

TEST(SimLease, ClientsResumeWithEveryFault) {
  lease::Setup setup{.readers = 0.5,
                     .deaths = 0.1,
                     .entries = 1'500,
                     .stay = 20ms,
                     .long_stays = 0.3,
                     .resume = 0.8,
                     .hang_ups = 0.2,
                     .faults = kEverything};
  setup.faults.crashes_per_s = 15;
  const std::uint64_t seeds = soak() ? 300 : 6;
  std::uint64_t resumes = runs(setup, seeds).resumes;
  setup.sites = setup.contending = 5;
  resumes += runs(setup, seeds).resumes;
  setup.rules.drift = Ppb{50'000'000};
  setup.other_lengths = 0.5;
  setup.rules.longest = 4 * setup.rules.lease;
  resumes += runs(setup, seeds).resumes;
  EXPECT_GT(resumes, 20 * seeds);
}

// Each member decides alone: safe while the two reach each other, unsafe in a partition.
TEST(SimLease, PolicyAvailableLosesExclusion) {
  lease::Setup setup{.sites = 2, .contending = 2, .policy = TwoNode::available};
  runs(setup, 3);
  setup.faults.partitions_per_s = 5;
  std::uint64_t violations = 0;
  for (setup.seed = 1; setup.seed <= 5; ++setup.seed) violations += run(setup).tally.violations;
  EXPECT_GT(violations, 0U);
}

// Outside the model: clocks that jump by up to two leases. Only tokens protect data then.
TEST(SimLease, JumpingClocksBreakExclusion) {
  lease::Setup setup{
      .entries = 500, .stay = 20ms, .faults = {.crashes_per_s = 2, .steps_per_s = 2}};
  std::uint64_t violations = 0;
  for (setup.seed = 1; setup.seed <= 20; ++setup.seed) violations += run(setup).tally.violations;
  EXPECT_GT(violations, 0U);
}

TEST(SimLease, LongSimulation) {
  if (!soak()) GTEST_SKIP() << "runs in make soak";
  const Outcome all = runs({.readers = 0.4,
                            .deaths = 0.05,
                            .entries = 10'000,
                            .long_stays = 0.02,
                            .faults = kEverything},
                           1'000);
  EXPECT_GE(all.tally.entries, 10'000'000U);
}

}  // namespace
}  // namespace tempo::sim::lease
