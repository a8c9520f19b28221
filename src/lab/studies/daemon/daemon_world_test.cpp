#include "lab/studies/daemon/daemon_world.h"

#include <cstdlib>
#include <iterator>
#include <set>
#include <string>

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace tempo::sim::daemon {
namespace {

std::string text_of(const daemon::Setup& setup, const Outcome& outcome) {
  std::string text = fmt::format("seed {}\n", setup.seed);
  for (const Violation& violation : outcome.violations)
    fmt::format_to(std::back_inserter(text), "{} at {} ms: {}\n", violation.property,
                   violation.at.time_since_epoch() / 1ms, violation.text);
  return text;
}

class EveryScenario : public testing::TestWithParam<Scenario> {};
INSTANTIATE_TEST_SUITE_P(Daemon, EveryScenario,
                         testing::Values(Scenario::churn, Scenario::partition, Scenario::restart,
                                         Scenario::disk, Scenario::everything, Scenario::time));

TEST_P(EveryScenario, KeepsTheProperties) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const daemon::Setup setup{.scenario = GetParam(), .seed = seed};
    const Outcome outcome = run(setup);
    EXPECT_TRUE(outcome.kept()) << text_of(setup, outcome);
    EXPECT_GT(outcome.entries, 20U);
    EXPECT_GT(outcome.masters, 0U);
  }
}

TEST(Daemon, ClientsResumeAfterRestarts) {
  std::uint64_t resumes = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    resumes += run({.scenario = Scenario::restart, .seed = seed}).resumes;
  EXPECT_GT(resumes, 0U);
}

// The new master had joined twelve seconds before and knew the rate of network time worse than its
// members. One of them objected, then used exchanges that were possible again, and for the rest of
// the objection its bounds contained only the line that it held.
TEST(Daemon, AMemberThatObjectsIncludesTheMastersTime) {
  const daemon::Setup setup{.seed = 37879};
  const Outcome outcome = run(setup);
  EXPECT_TRUE(outcome.kept()) << text_of(setup, outcome);
}

// The number of runs: all of them under make soak.
std::uint64_t runs(std::uint64_t quick, std::uint64_t all) {
  return std::getenv("TEMPO_SOAK") != nullptr ? all : quick;
}

// An attacker records everything for ten minutes and replays it whenever a host starts, among the
// others and alone. Replayed datagrams of earlier processes once kept the answers of the present
// ones from a host, and its client lost a lock (seed 1).
class EveryTenthRecording : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Daemon, EveryTenthRecording, testing::Range<std::uint64_t>(1, 11));

TEST_P(EveryTenthRecording, MovesNoClockNoMasterAndNoLock) {
  const Nanos recording = runs(0, 1) == 1 ? 600s : 30s;
  for (std::uint64_t seed = GetParam(); seed <= runs(20, 1000); seed += 10) {
    const daemon::Setup setup{.scenario = Scenario::replay, .seed = seed, .until = recording};
    const Outcome outcome = run(setup);
    EXPECT_TRUE(outcome.kept()) << text_of(setup, outcome);
    EXPECT_GT(outcome.replayed, 10'000U);
  }
}

// The same without the attacker: the judge objects to nothing but its datagrams.
TEST(Daemon, HostsThatStartWithoutAnAttackerFollowTheirMaster) {
  const daemon::Setup setup{
      .scenario = Scenario::replay, .seed = 1, .until = 30s, .attacks = false};
  const Outcome outcome = run(setup);
  EXPECT_TRUE(outcome.kept()) << text_of(setup, outcome);
  EXPECT_EQ(outcome.replayed, 0U);
}

// Ten thousand accidents under make soak. A record of another machine once counted as none, and an
// old copy as the present one; with most records lost, tokens began again (seed 7).
TEST(Daemon, AccidentsOfRecordsAreNoticedAndTurnNoTokenBack) {
  std::uint64_t accidents = 0;
  for (std::uint64_t seed = 1; accidents < runs(300, 10'000); ++seed) {
    const daemon::Setup setup{.scenario = Scenario::records, .seed = seed};
    const Outcome outcome = run(setup);
    EXPECT_TRUE(outcome.kept()) << text_of(setup, outcome);
    EXPECT_GT(outcome.entries, 0U);
    accidents += outcome.accidents;
    ASSERT_LT(seed, 5000U) << "too few accidents";
  }
}

// Every partition of five voters, every one of them cloned, and six stories: 960 worlds under make
// soak. In a partition of {1,3} and {2, the clone of 3} both sides once had a majority.
TEST(Daemon, ACloneNeverMakesTwoHolders) {
  std::uint64_t entries = 0;
  for (std::uint64_t seed = 0; seed < 960; seed += runs(31, 1)) {
    const daemon::Setup setup{
        .clients = 12, .scenario = Scenario::clone, .seed = seed, .until = 50s};
    const Outcome outcome = run(setup);
    EXPECT_TRUE(outcome.kept()) << text_of(setup, outcome);
    entries += outcome.entries;
  }
  EXPECT_GT(entries, 500U);
}

// A restored record began with a boot that it had before: its host was believed, and gave a token
// twice.
TEST(Daemon, AnOldCopyOfARecordTurnsNoTokenBack) {
  const daemon::Setup setup{.scenario = Scenario::records, .seed = 3597};
  const Outcome outcome = run(setup);
  EXPECT_TRUE(outcome.kept()) << text_of(setup, outcome);
}

TEST(Daemon, NoticesACloneThatDoesNotShow) {
  std::set<std::string> properties;
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    const Outcome outcome = run({.clients = 12,
                                 .scenario = Scenario::clone,
                                 .seed = seed,
                                 .until = 50s,
                                 .copy_shows = false});
    if (!outcome.kept()) properties.insert(outcome.violations.front().property);
  }
  EXPECT_TRUE(properties.contains("exclusion") || properties.contains("token-order"));
}

// Sixteen hosts, of which eight vote: 1,000 orders of starting and meeting under make soak.
TEST(Daemon, TwoVotingSetsAreReported) {
  std::uint64_t twice = 0;
  for (std::uint64_t seed = 1; seed <= runs(12, 1000); ++seed) {
    const daemon::Setup setup{
        .nodes = 16, .clients = 16, .scenario = Scenario::halves, .seed = seed};
    const Outcome outcome = run(setup);
    EXPECT_TRUE(outcome.kept()) << text_of(setup, outcome);
    twice += outcome.sets == 2 ? 1U : 0U;
  }
  EXPECT_GT(twice, 0U) << "no two sets met";
}

// Deliberate faults of the driver: at least one of ten runs notices each of them.
TEST(Daemon, NoticesDeliberateFaults) {
  const auto violated = [](daemon::Setup setup) {
    setup.scenario = Scenario::disk;
    std::set<std::string> properties;
    for (setup.seed = 1; setup.seed <= 10; ++setup.seed) {
      const Outcome outcome = run(setup);
      if (!outcome.kept()) properties.insert(outcome.violations.front().property);
    }
    return properties;
  };
  EXPECT_TRUE(violated({.ignore_order = true}).contains("one-voter-set"));
  EXPECT_TRUE(violated({.forget_persisted = true}).contains("progress"));
  EXPECT_TRUE(violated({.notify_twice = true}).contains("one-answer"));
}

TEST(Daemon, NoticesThatALostRecordCountsAsAbsent) {
  std::set<std::string> properties;
  for (std::uint64_t seed = 3; seed <= 80; seed += 4) {  // those in which a majority may lose it
    const Outcome outcome =
        run({.scenario = Scenario::records, .seed = seed, .lost_is_absent = true});
    if (!outcome.kept()) properties.insert(outcome.violations.front().property);
  }
  EXPECT_TRUE(properties.contains("token-order"));
}

TEST(Daemon, IsDeterministic) {
  const daemon::Setup setup{.seed = 3, .until = 20s};
  const Outcome first = run(setup);
  EXPECT_EQ(first.hash, run(setup).hash);
  for (const Scenario scenario : {Scenario::records, Scenario::replay}) {
    const daemon::Setup other{.scenario = scenario, .seed = 3, .until = 20s};
    EXPECT_EQ(run(other).hash, run(other).hash);
  }
  EXPECT_NE(first.hash, run({.seed = 4, .until = 20s}).hash);
}

}  // namespace
}  // namespace tempo::sim::daemon
