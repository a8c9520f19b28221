// Spirakis and Tampakas 1989, sections 2 and 3: the claims about the locks, and which of them hold.
#include "lab/studies/lock/mutex_run.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace tempo::sim::lock {
namespace {

using tempo::lock::mutex::Variant;
using LockSetup = Setup;  // `Setup` is a name of GoogleTest

bool soak() { return std::getenv("TEMPO_SOAK") != nullptr; }

// Runs `count` consecutive seeds and adds up their outcomes.
Outcome runs(LockSetup setup, std::uint64_t count) {
  Outcome sum;
  for (std::uint64_t i = 0; i < count; ++i, ++setup.seed) sum.add(run(setup));
  return sum;
}
// Returns `few`, or `many` in a soak run.
std::uint64_t times(std::uint64_t few, std::uint64_t many) { return soak() ? many : few; }

void expect_safe(const Outcome& outcome, const LockSetup& setup) {
  EXPECT_EQ(outcome.tally.violations, 0U) << "gamma " << setup.gamma << " serial " << setup.serial;
  EXPECT_EQ(outcome.tally.deadlocks, 0U) << "gamma " << setup.gamma << " serial " << setup.serial;
}

// Covers serial and parallel handling, steps that differ much, little and not at all, and sleeps
// that cover a pass or almost nothing.
template <class Check>
void in_all_settings(LockSetup setup, std::uint64_t count, Check check) {
  for (const bool serial : {true, false})
    for (const double gamma : {0.2, 0.6, 1.0}) {
      setup.serial = serial;
      setup.gamma = gamma;
      setup.sleep = setup.seed % 2 == 0 ? 1 : 0.02;
      const Outcome outcome = runs(setup, count);
      expect_safe(outcome, setup);
      check(outcome, setup);
      setup.seed += count | 1;
    }
}

// --- mutual exclusion ---

// No site asks again: the patience suffices for all live sites.
TEST(MutexRun, ExcludesAtTheExpectedCost) {
  in_all_settings(
      {.entries = 1'000}, times(1, 1'000), [](const Outcome& sum, const LockSetup& setup) {
        const Tally& tally = sum.tally;
        EXPECT_EQ(tally.messages, tally.entries * (setup.sites - 1) + 2 * tally.refusals);
        EXPECT_LE(tally.messages, 3 * (setup.sites - 1) * tally.entries);
        EXPECT_GT(tally.refusals, 0U);
        EXPECT_EQ(tally.token_disorder, 0U);
        EXPECT_EQ(sum.asked_again, 0U);
        EXPECT_EQ(sum.beyond_bound, 0U);
        EXPECT_GT(sum.longest_by_bound, 0.2);
        EXPECT_GT(tally.fairness(), 0.0);  // fast sites enter more often than slow ones
      });
}

TEST(MutexRun, CostsOneMessagePerOtherSiteWithoutContention) {
  const Outcome sum = run({.sites = 7, .contending = 1, .entries = 500});
  EXPECT_EQ(sum.tally.messages, 6 * sum.tally.entries);
  EXPECT_EQ(sum.tally.refusals, 0U);
}

TEST(MutexRun, ToleratesCrashesAndRestarts) {
  in_all_settings({.entries = 1'000, .crashes = 0.3}, times(1, 1'000),
                  [](const Outcome& sum, const LockSetup& /*setup*/) {
                    EXPECT_GT(sum.crashes, sum.tally.entries / 5);
                    EXPECT_GT(sum.asked_again, 0U);
                    EXPECT_EQ(sum.beyond_bound, 0U);
                    EXPECT_GT(sum.longest_by_bound, 0.1);
                  });
}

TEST(MutexRun, ToleratesClientsThatOutliveTheirSites) {
  in_all_settings({.entries = 500, .hold_outlives = true, .crashes = 0.3}, times(1, 100),
                  [](const Outcome&, const LockSetup&) {});
}

// Lemma 1, with s contenders and sleeps that cover a whole pass: at most s / (2 (1 + gamma)).
TEST(MutexRun, RefusalsStayBelowTheirMean) {
  for (const std::uint32_t contending : {4U, 12U}) {
    for (const double gamma : {0.2, 1.0}) {
      const LockSetup setup{
          .sites = 12, .contending = contending, .gamma = gamma, .entries = 2'000};
      const Outcome sum = runs(setup, times(1, 10));
      EXPECT_LE(static_cast<double>(sum.tally.refusals),
                contending / (2 * (1 + gamma)) * static_cast<double>(sum.tally.entries))
          << contending << " " << gamma;
    }
  }
}

TEST(MutexRun, ExplicitRepliesAlwaysCostTwiceAsMuch) {
  in_all_settings({.kind = Kind::replies, .entries = 1'000}, times(2, 100),
                  [](const Outcome& sum, const LockSetup& setup) {
                    EXPECT_EQ(sum.tally.messages, 2 * (setup.sites - 1) * sum.tally.entries);
                    EXPECT_EQ(sum.asked_again, 0U);
                  });
}

// Explicit replies need no bounds: late and lost messages cost time only.
TEST(MutexRun, ExplicitRepliesTolerateBrokenBounds) {
  const LockSetup setup{.kind = Kind::replies,
                        .entries = 500,
                        .loss = 0.1,
                        .late = 0.3,
                        .crashes = 0.1,
                        .pauses = 0.1,
                        .partitions = 0.1};
  expect_safe(runs(setup, times(4, 400)), setup);
}

TEST(MutexRun, FallsBackToExplicitRepliesWhileTheBoundsDoNotHold) {
  for (const Kind kind : {Kind::mutex, Kind::rw}) {
    const LockSetup setup{.kind = kind, .readers = 2, .entries = 500, .doubts = 0.05};
    const Outcome sum = runs(setup, times(4, 400));
    expect_safe(sum, setup);
    EXPECT_GT(sum.tally.refusals, 0U);
  }
}

TEST(MutexRun, IsUnsafeBeyondItsBounds) {
  EXPECT_GT(runs({.entries = 1'000, .loss = 0.1}, 2).tally.violations, 0U);
  EXPECT_GT(runs({.entries = 1'000, .late = 0.3}, 2).tally.violations, 0U);
  EXPECT_GT(runs({.entries = 1'000, .pauses = 0.5}, 2).tally.violations, 0U);
  EXPECT_GT(runs({.entries = 1'000, .partitions = 0.5}, 2).tally.violations, 0U);
}

// --- variants ---

std::uint64_t violations(const LockSetup& setup) { return runs(setup, 2).tally.violations; }

TEST(MutexRun, PrintedVersionViolatesExclusion) {
  EXPECT_GT(violations({.entries = 2'000, .variant = Variant::as_printed}), 10U);
  EXPECT_GT(violations({.entries = 2'000, .variant = Variant::as_printed, .serial = false}), 10U);
}
// Handlers are slow compared with the delays; everything else is corrected.
TEST(MutexRun, WindowForOneHandlerViolatesExclusion) {
  const LockSetup busy{.entries = 2'000,
                       .variant = Variant::printed_window,
                       .handling = {.request = 20, .reply = 20},
                       .delay_max = 200us};
  EXPECT_GT(violations(busy), 10U);
}
TEST(MutexRun, PrintedNumbersViolateExclusion) {
  EXPECT_GT(violations({.entries = 2'000, .variant = Variant::modulo, .sleep = 0, .crashes = 0.3}),
            0U);
}
// In the simulation crashed sites restart and withdraw their refusals; the checker has a
// counterexample with a site that stays down.
TEST(MutexRun, SilentTimeoutsSufficeWithoutACrash) {
  EXPECT_EQ(violations({.entries = 2'000, .variant = Variant::silent_second_timeout}), 0U);
}

// --- readers and writers ---

TEST(ReadersWritersRun, ExcludeWithoutStarvation) {
  for (const std::uint32_t readers : {1U, 3U, 4U})
    in_all_settings({.kind = Kind::rw, .readers = readers, .entries = 1'000}, times(1, 300),
                    [](const Outcome& sum, const LockSetup& setup) {
                      const Tally& tally = sum.tally;
                      EXPECT_EQ(tally.messages,
                                tally.entries * (setup.sites - 1) + 2 * tally.refusals);
                      EXPECT_EQ(tally.token_disorder, 0U);
                      EXPECT_EQ(sum.asked_again, 0U);
                      EXPECT_EQ(sum.beyond_bound, 0U);
                      EXPECT_GT(tally.fairness(), 0.0);
                    });
}

TEST(ReadersWritersRun, TolerateCrashesAndRestarts) {
  in_all_settings({.kind = Kind::rw, .readers = 3, .entries = 1'000, .crashes = 0.3}, times(2, 900),
                  [](const Outcome& sum, const LockSetup&) { EXPECT_EQ(sum.beyond_bound, 0U); });
}

TEST(ReadersWritersRun, AsPrintedViolateExclusion) {
  EXPECT_GT(violations(
                {.kind = Kind::rw, .readers = 2, .entries = 2'000, .variant = Variant::as_printed}),
            10U);
}

// --- optimistic readers ---

TEST(OptimisticRun, ReadersSucceedAfterAFewAttempts) {
  for (const double gamma : {0.1, 0.25, 0.5, 1.0}) {
    const Outcome sum =
        runs({.kind = Kind::optimistic, .gamma = gamma, .entries = 2'000}, times(1, 50));
    EXPECT_EQ(sum.tally.deadlocks, 0U);
    EXPECT_EQ(sum.torn, 0U);
    const double attempts =
        static_cast<double>(sum.attempts) / static_cast<double>(sum.tally.entries);
    EXPECT_LE(attempts, 2 / gamma + 1) << gamma;
    EXPECT_GT(attempts, 1.01) << gamma;  // some reads overlap writes
  }
}

TEST(OptimisticRun, WithoutTheWaitsReadersStarve) {
  const Outcome sum = run({.kind = Kind::optimistic, .entries = 2'000, .waits = false});
  EXPECT_EQ(sum.tally.deadlocks, 1U);
  EXPECT_GT(sum.attempts, 100U);
}

TEST(LockRun, CountsEntriesByRefusals) {
  const Outcome sum = run({.sites = 6, .contending = 6, .entries = 500, .sleep = 0});
  std::uint64_t entries = 0;
  std::uint64_t refusals = 0;
  for (std::size_t by = 0; by < sum.refused.size(); ++by) {
    entries += sum.refused[by];
    refusals += by * sum.refused[by];
  }
  EXPECT_EQ(entries, sum.tally.entries);
  EXPECT_EQ(refusals, sum.tally.refusals);
  EXPECT_GT(sum.refused.size(), 3U);
}

TEST(LockRun, SeedDeterminesTheRun) {
  const LockSetup setup{.entries = 300, .late = 0.05, .crashes = 0.2};
  const Outcome one = run(setup);
  const Outcome two = run(setup);
  EXPECT_EQ(one.tally.messages, two.tally.messages);
  EXPECT_EQ(one.events, two.events);
  LockSetup other = setup;
  other.seed = 2;
  EXPECT_NE(run(other).events, one.events);
}

}  // namespace
}  // namespace tempo::sim::lock
