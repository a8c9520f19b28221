// The cost of elections in messages and collisions, compared with the paper's formulas and with
// independently computed values.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lab/studies/election/scenario_test_setup.h"

namespace tempo::sim::election {
namespace {

using tempo::election::Kind;
using tempo::election::State;

// --- cost of an election ---

// Election 1, Accept N-1, Ack N-1, Masterup 1, Slaveup N-1.
void expect_3n_1(std::string_view profile, std::uint32_t survivors, std::uint64_t seed) {
  auto setup = setup_of(profile, survivors + 1, 0);
  setup.seed = seed;
  const Outcome outcome = run(*plan_of(Scenario::master_crash, setup, 0s));
  const std::string how = replay(Scenario::master_crash, profile, setup, outcome);
  EXPECT_EQ(outcome.election_messages, 3 * survivors - 1) << how;
  EXPECT_EQ(outcome.violation_count, 0U) << how;
  EXPECT_EQ(outcome.final_masters.size(), 1U) << how;
  if (outcome.collided) return;  // there was more than one election
  EXPECT_EQ(count_of(outcome, Kind::election), 1U) << how;
  EXPECT_EQ(count_of(outcome, Kind::accept), survivors - 1) << how;
  EXPECT_EQ(count_of(outcome, Kind::masterup), 1U) << how;
  EXPECT_EQ(count_of(outcome, Kind::slaveup), survivors - 1) << how;
}

TEST(OneCandidate, Costs3NMinus1) {
  const std::uint32_t most = soaking() ? 200 : 60;
  for (std::uint32_t survivors = 2; survivors <= most; ++survivors)
    for (std::uint64_t seed = 1; seed <= seeds(1, 3); ++seed) expect_3n_1("lan", survivors, seed);
}

TEST(OneCandidate, Costs3NMinus1InEveryProfile) {
  for (const std::string_view profile : tempo::election::profile_names())
    for (const std::uint32_t survivors : {2U, 3U, 5U, 9U, 16U})
      for (std::uint64_t seed = 1; seed <= seeds(4, 200); ++seed)
        expect_3n_1(profile, survivors, seed);
}

// Two Elections, an answer of every other node to each, and its Ack. With equal delays the
// non-candidates accept one and refuse the other, and the candidates refuse each other.
void expect_4n_2(std::string_view profile, std::uint32_t survivors, const Delay& delay,
                 std::uint64_t seed) {
  auto setup = setup_of(profile, survivors + 1, 0);
  setup.link.delay = delay;
  setup.seed = seed;
  const Experiment experiment = *plan_of(Scenario::two_candidates, setup, 0s);
  const Outcome outcome = run(experiment);
  const std::string how = replay(Scenario::two_candidates, profile, setup, outcome);
  EXPECT_EQ(outcome.election_messages, 4 * survivors - 2) << how;
  EXPECT_EQ(outcome.violation_count, 0U) << how;
  EXPECT_FALSE(outcome.ever_two_masters) << how;
}

TEST(TwoCandidates, Cost4NMinus2WithEqualDelays) {
  const std::uint32_t most = soaking() ? 200 : 60;
  for (std::uint32_t survivors = 2; survivors <= most; ++survivors)
    expect_4n_2("lan", survivors, Delay::constant(1ms), survivors);
}

TEST(TwoCandidates, Cost4NMinus2WithRandomDelays) {
  const std::uint32_t most = soaking() ? 200 : 60;
  for (std::uint32_t survivors = 2; survivors <= most; ++survivors)
    for (std::uint64_t seed = 1; seed <= seeds(1, 5); ++seed)
      expect_4n_2("lan", survivors, Delay::uniform(100us, 2ms), 1000 * seed + survivors);
}

TEST(TwoCandidates, Cost4NMinus2InEveryProfile) {
  for (const std::string_view profile : tempo::election::profile_names())
    for (const std::uint32_t survivors : {2U, 3U, 7U, 12U})
      for (std::uint64_t seed = 1; seed <= seeds(4, 200); ++seed) {
        expect_4n_2(profile, survivors, Delay::constant(1ms), seed);
        expect_4n_2(profile, survivors, Delay::uniform(100us, 2ms), seed);
      }
}

// With equal delays no candidate wins and both double their range.
TEST(TwoCandidates, BackOffWhenDelaysAreEqual) {
  for (const std::uint32_t survivors : {2U, 3U, 6U, 15U}) {
    auto setup = setup_of("lan", survivors + 1, 0);
    setup.link.delay = Delay::constant(1ms);
    Cluster cluster(setup);
    const Experiment experiment = *plan_of(Scenario::two_candidates, setup, 0s);
    for (const Fault& fault : experiment.plan) cluster.apply(fault);
    cluster.run_until(cluster.now() + 10ms);
    for (const NodeId id : {kSecond, kThird}) {
      EXPECT_EQ(cluster.world().machine(id).state(), State::slave) << survivors;
      EXPECT_EQ(cluster.world().machine(id).backoff(), 2U) << survivors;
    }
    EXPECT_EQ(cluster.watches().reigns.count(), 0U) << survivors;
  }
}

// --- independently computed values ---

nlohmann::json golden() {
  std::ifstream file(std::string(TEMPO_TESTDATA) + "/tempo_golden.json");
  return nlohmann::json::parse(file);
}

// Parses "1/100".
double fraction(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return std::stod(text);
  return std::stod(text.substr(0, slash)) / std::stod(text.substr(slash + 1));
}

TEST(Golden, MessageTotals) {
  const nlohmann::json all = golden();
  ASSERT_GE(all.at("messages").size(), 10U);
  for (const auto& row : all.at("messages")) {
    const auto survivors = row.at("N").get<std::uint32_t>();
    const auto setup = setup_of("lan", survivors + 1, 0);
    EXPECT_EQ(run(*plan_of(Scenario::master_crash, setup, 0s)).election_messages,
              row.at("one_candidate").get<std::uint64_t>());
    EXPECT_EQ(run(*plan_of(Scenario::two_candidates, setup, 0s)).election_messages,
              row.at("two_candidates").get<std::uint64_t>());
  }
}

// N daemons draw new timers from a range of width R: two become candidates together with
// probability 1-(1-d/R)^N, where d is the time until a candidate is received. Rare Loops as in
// 4.3BSD keep the runs short.
TEST(Golden, CollisionFrequency) {
  const std::uint64_t runs = seeds(250, 20'000);
  int compared = 0;
  const nlohmann::json all = golden();
  for (const auto& row : all.at("collision")) {
    const double predicted = fraction(row.at("P").get<std::string>());
    if (predicted < 0.02) continue;  // too rare to distinguish from zero with this number of runs
    const auto survivors = row.at("N").get<std::uint32_t>();
    const double window = fraction(row.at("delta").get<std::string>());
    const double width = fraction(row.at("R").get<std::string>());
    auto setup = setup_of("classic", survivors + 1, 0);
    setup.link.delay = Delay::constant(Nanos{std::llround(window * 1e9)});
    setup.rules.timing.election_max =
        setup.rules.timing.election_min + Nanos{std::llround(width * 1e9)};
    std::uint64_t collisions = 0;
    for (std::uint64_t seed = 1; seed <= runs; ++seed) {
      setup.seed = seed + std::uint64_t{1'000'000} * survivors;
      const Outcome outcome = run(*plan_of(Scenario::collision, setup, 0s));
      ASSERT_FALSE(outcome.attempts.empty());
      collisions += outcome.attempts.front().collided;
    }
    const double seen = static_cast<double>(collisions) / static_cast<double>(runs);
    const double error = std::sqrt(predicted * (1 - predicted) / static_cast<double>(runs));
    EXPECT_NEAR(seen, predicted, 4 * error)
        << "N " << survivors << ", window " << window << ", width " << width;
    ++compared;
  }
  EXPECT_GE(compared, 8);
}

}  // namespace
}  // namespace tempo::sim::election
