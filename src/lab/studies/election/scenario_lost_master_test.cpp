// A master that stops, dies with a hint, or has one-way connectivity.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/studies/election/no_starvation.h"
#include "lab/studies/election/scenario_test_setup.h"

namespace tempo::sim::election {
namespace {

using tempo::election::Kind;
using tempo::election::State;
using tempo::election::Timing;

// --- hints and clean stops ---

// A settled network of five; node 5 is the heir.
Experiment settled_five() { return settled(setup_of("lan", 5, 0)); }

TEST(CleanStop, HeirBecomesCandidateAtOnce) {
  Experiment experiment = settled_five();
  experiment.plan.push_back({.at = experiment.study_from, .act = Act::stop, .node = kMaster});
  complete(experiment);
  const Outcome outcome = run(experiment);
  EXPECT_EQ(outcome.violation_count, 0U);
  EXPECT_THAT(outcome.final_masters, ::testing::ElementsAre(kFifth));
  // One delay, and the candidacy, which the last Accept extends by at most two delays.
  EXPECT_LE(outcome.time_to_master, 200ms + 3 * 2ms);
  EXPECT_EQ(count_of(outcome, Kind::masterdown), 1U);
  EXPECT_EQ(count_of(outcome, Kind::election), 1U);
}

TEST(CleanStop, RestartedMasterFollows) {
  Experiment experiment = settled_five();
  experiment.plan.push_back(
      {.at = experiment.study_from, .act = Act::stop, .node = kMaster, .lasts = 2s});
  complete(experiment);
  const Outcome outcome = run(experiment);
  EXPECT_EQ(outcome.violation_count, 0U);
  EXPECT_THAT(outcome.final_masters, ::testing::ElementsAre(kFifth));
  EXPECT_FALSE(outcome.ever_two_masters);
}

// The highest listed node is dead: the heir is the highest that answers.
TEST(CrashHint, DeadHeirIsNotNamed) {
  Experiment experiment = settled_five();
  experiment.plan.push_back({.at = experiment.study_from, .act = Act::crash, .node = kFifth});
  // One round without an answer, and a Loop after it.
  experiment.plan.push_back(
      {.at = experiment.study_from + 1500ms, .act = Act::hint, .node = kMaster});
  complete(experiment);
  const Outcome outcome = run(experiment);
  EXPECT_EQ(outcome.violation_count, 0U);
  EXPECT_THAT(outcome.final_masters, ::testing::ElementsAre(kFourth));
  EXPECT_LE(outcome.time_to_master, 1500ms + 200ms + 3 * 2ms);
}

// The heir dies with the master: the others wait two candidate times and a draw.
TEST(CrashHint, OthersFollowIfTheHeirIsDeadToo) {
  Experiment experiment = settled_five();
  experiment.plan.push_back({.at = experiment.study_from, .act = Act::crash, .node = kFifth});
  experiment.plan.push_back({.at = experiment.study_from, .act = Act::hint, .node = kMaster});
  complete(experiment);
  const Outcome outcome = run(experiment);
  EXPECT_EQ(outcome.violation_count, 0U);
  EXPECT_GE(outcome.time_to_master, 400ms);
  EXPECT_LE(outcome.time_to_master, 400ms + 2500ms + 200ms + 10ms);
}

// Node 1 dies, its parent's Masterdown is delayed, and when it arrives node 1 is master again in a
// new incarnation. The hint refers to the earlier one.
TEST(CrashHint, OfAnEarlierIncarnationIsIgnored) {
  Experiment experiment = settled_five();
  const Instant from = experiment.study_from;
  const Instant arrives = from + 30s;
  experiment.plan.push_back({.at = from,
                             .act = Act::late,
                             .lasts = 1s,
                             .kind = Kind::masterdown,
                             .any_kind = false,
                             .extra = 30s});
  experiment.plan.push_back({.at = from, .act = Act::hint, .node = kMaster, .lasts = 100ms});
  for (const NodeId other : {kSecond, kThird, kFourth, kFifth})
    experiment.plan.push_back({.at = from + 10s, .act = Act::crash, .node = other, .lasts = 5s});
  complete(experiment);
  Cluster cluster(experiment.setup);
  for (const Fault& fault : experiment.plan) cluster.apply(fault);
  cluster.run_until(arrives - 1s);
  ASSERT_EQ(cluster.master(), kMaster);
  ASSERT_EQ(not_one_master(cluster.world()), std::nullopt);
  cluster.watches().costs.begin(Costs::Study::winner);
  cluster.run_until(arrives + 5s);
  const auto& sent = cluster.watches().costs.by_kind();
  EXPECT_GT(sent[static_cast<std::size_t>(Kind::loop)], 0U);
  EXPECT_EQ(sent[static_cast<std::size_t>(Kind::election)], 0U) << "no node may become a candidate";
  EXPECT_EQ(cluster.master(), kMaster);
  EXPECT_EQ(cluster.violations().count(), 0U);
}

// --- one-way connectivity ---

// Measures the longest time of each node without a correction; masters need none.
class CorrectionGaps {
 public:
  explicit CorrectionGaps(Cluster& cluster)
      : cluster_(cluster),
        longest_(cluster.setup().nodes),
        last_correction_(cluster.setup().nodes, cluster.now()) {}

  void run(Nanos span, Nanos step = 50ms) {
    const Instant end = cluster_.now() + span;
    while (cluster_.now() < end) {
      cluster_.run_until(std::min(cluster_.now() + step, end));
      for (std::uint32_t i = 0; i < longest_.size(); ++i) {
        const NodeId id{i};
        last_correction_[i] =
            std::max(last_correction_[i], cluster_.watches().corrections.last(id));
        if (cluster_.world().machine(id).state() == State::master)
          last_correction_[i] = cluster_.now();
        longest_[i] = std::max(longest_[i], cluster_.now() - last_correction_[i]);
      }
    }
  }
  Nanos of(NodeId id) const { return longest_[index(id)]; }

 private:
  Cluster& cluster_;
  std::vector<Nanos> longest_;
  std::vector<Instant> last_correction_;
};

void begin(Cluster& cluster, const Experiment& experiment) {
  for (const Fault& fault : experiment.plan) cluster.apply(fault);
}

// The master receives but its messages are lost: the others elect another. The state of the mute
// master harms no other node.
TEST(Asymmetry, MuteMasterIsReplaced) {
  constexpr std::array kOthers{kSecond, kThird, kFourth, kFifth};
  for (const std::string_view profile : {"lan", "fast"}) {
    const Experiment experiment = settled(setup_of(profile, 5));
    Cluster cluster(experiment.setup);
    begin(cluster, experiment);
    cluster.apply({.at = cluster.now(), .act = Act::mute, .node = kMaster});
    cluster.run_until(cluster.now() + 2 * experiment.setup.rules.timing.election_max);
    CorrectionGaps gaps(cluster);
    gaps.run(30s);
    std::set<NodeId> followed;
    for (const NodeId id : kOthers) {
      followed.insert(cluster.world().machine(id).master());
      EXPECT_LE(gaps.of(id), 1200ms) << profile << ", node " << index(id) + 1;
    }
    EXPECT_EQ(followed.size(), 1U) << profile;
    EXPECT_FALSE(followed.contains(kMaster)) << profile;
    EXPECT_EQ(cluster.violations().count(), 0U) << profile;
  }
}

TEST(Asymmetry, DeafMasterIsReplaced) {
  Experiment experiment = settled(setup_of("lan", 5));
  Cluster cluster(experiment.setup);
  begin(cluster, experiment);
  cluster.apply({.at = cluster.now(), .act = Act::deaf, .node = kMaster});
  cluster.run_until(cluster.now() + 30s);
  EXPECT_EQ(starved(cluster.world(), cluster.watches().corrections, 1s, kMaster), std::nullopt);
  EXPECT_EQ(cluster.violations().count(), 0U);
}

struct OneWay {
  std::string_view name;
  NodeId from, to;
};
void PrintTo(const OneWay& cut, std::ostream* out) { *out << cut.name; }

class OneWayCut : public ::testing::TestWithParam<OneWay> {};

// A master and a follower with one-way connectivity alternate as masters, because each gives up the
// other. The other nodes are corrected all the time.
TEST_P(OneWayCut, OtherNodesAreServed) {
  const Experiment experiment = settled(setup_of("lan", 5));
  const Timing& timing = experiment.setup.rules.timing;
  Cluster cluster(experiment.setup);
  begin(cluster, experiment);
  cluster.apply(
      {.at = cluster.now(), .act = Act::cut, .node = GetParam().from, .peer = GetParam().to});
  CorrectionGaps gaps(cluster);
  gaps.run(120s);
  for (const NodeId id : {kMaster, kSecond, kThird, kFourth, kFifth}) {
    const bool concerned = id == GetParam().from || id == GetParam().to;
    EXPECT_LE(gaps.of(id),
              concerned ? 9 * timing.adjtime + timing.election_max : 3 * timing.adjtime)
        << "node " << index(id) + 1;
  }
  // No master is given up before eight intervals; two terms fit into that time.
  EXPECT_LE(cluster.watches().reigns.reigns(), 2 * (120 / 8));
  // A cut is a loss: `conservative` is not checked, the other properties are.
  for (const Violation& violation : cluster.violations().kept())
    EXPECT_EQ(violation.property, "conservative");
}

INSTANTIATE_TEST_SUITE_P(All, OneWayCut,
                         ::testing::Values(OneWay{"FromMaster", kMaster, kThird},
                                           OneWay{"ToMaster", kThird, kMaster},
                                           OneWay{"AmongSlaves", kSecond, kThird}),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace tempo::sim::election
