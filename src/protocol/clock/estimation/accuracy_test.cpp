// A short version of bench/clock.cpp: half an hour for each kind of network, with the same
// constants of the estimator for all.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lab/studies/sync/assembly.h"
#include "lab/studies/sync/trial.h"
#include "protocol/clock/estimation/estimator.h"

namespace tempo::clock::testing {

struct Requirement {
  Trial trial;
  double rms;        // largest rms error, in microseconds; 0: not checked
  double max_error;  // largest error, in microseconds
};

void PrintTo(const Requirement& requirement, std::ostream* out) { *out << requirement.trial.name; }

namespace {

constexpr int kSeeds = 1;
constexpr int kSeconds = 2000;

Trial noisy(const char* name, const std::string& jitter) {
  return {.name = name, .out = "100us+" + jitter, .back = "100us+" + jitter, .seconds = kSeconds};
}

class Accuracy : public ::testing::TestWithParam<Requirement> {};

TEST_P(Accuracy, MeetsTheRequirement) {
  const auto& [trial, rms, max_error] = GetParam();
  const Summary summary = summarize(trial, kSeeds);
  if (rms > 0) {
    EXPECT_LE(summary.worst_rms, rms);
    EXPECT_LE(summary.width, 20 * rms + summary.least_trip);
    EXPECT_LT(summary.sigma, 2 * rms);
    EXPECT_GT(summary.sigma, summary.rms / 2);
  }
  EXPECT_LE(summary.most, max_error);
  EXPECT_EQ(summary.violations, 0);
}

Requirement changed(Trial trial, double max_error, auto change) {
  change(trial);
  return {.trial = trial, .rms = 0, .max_error = max_error};
}

INSTANTIATE_TEST_SUITE_P(
    Networks, Accuracy,
    ::testing::Values(Requirement{noisy("exp_10", "exp:10us"), 0.39, 2},
                      Requirement{noisy("exp_100", "exp:100us"), 1.7, 8},
                      Requirement{noisy("exp_1000", "exp:1ms"), 9, 40},
                      Requirement{noisy("gauss_20", "normal:100us,20us"), 2.6, 8},
                      Requirement{noisy("uniform_100", "uniform:0us..100us"), 1.8, 8},
                      Requirement{{.name = "asymmetric",
                                   .out = "100us+exp:200us",
                                   .back = "100us+exp:10us",
                                   .seconds = kSeconds},
                                  2.1,
                                  9},
                      changed(noisy("longer_path_10", "exp:10us"), 5,
                              [](Trial& trial) { trial.later_out = "300us+exp:10us"; }),
                      changed(noisy("longer_path_100", "exp:100us"), 20,
                              [](Trial& trial) { trial.later_back = "300us+exp:100us"; }),
                      changed(noisy("rate_step", "exp:10us"), 60,
                              [](Trial& trial) { trial.rate_step = 1e-6; })),
    [](const auto& requirement) { return requirement.param.trial.name; });

TEST(Accuracy, IsSteadyAfterTenSeconds) {
  Trial trial = noisy("start", "exp:10us");
  trial.seconds = 20;
  EXPECT_LE(summarize(trial, 20).at_10s, 20);
}

// With scores from the quiet time alone, the error would reach 200 us with these seeds.
TEST(Accuracy, AdaptsAtOnceToMoreLoad) {
  Trial trial = noisy("load_rises", "exp:10us");
  trial.later_out = trial.later_back = "100us+exp:1ms";
  for (const std::uint64_t seed : {3U, 7U}) {
    const Outcome outcome = run(trial, seed);
    EXPECT_LE(outcome.most, 60) << seed;
    EXPECT_EQ(outcome.violations, 0) << seed;
  }
}

TEST(Accuracy, BoundHoldsWithAllTheDelayInOneDirection) {
  const Trial out{.name = "out", .out = "300us+exp:20us", .back = "1us+exp:1us", .seconds = 1000};
  const Trial back{.name = "back", .out = "1us+exp:1us", .back = "300us+exp:20us", .seconds = 1000};
  EXPECT_EQ(run(out, 1).violations, 0);
  EXPECT_EQ(run(back, 1).violations, 0);
  EXPECT_GT(run(back, 1).rms, 100);  // asymmetry cannot be measured
}

TEST(Accuracy, HoldoverIsWithinItsBound) {
  Trial trial = noisy("silent", "exp:10us");
  trial.silent_from = 1000;
  const Outcome outcome = run(trial, 1);
  EXPECT_EQ(outcome.violations, 0);
  EXPECT_GT(outcome.most, 1);    // the clock wanders away
  EXPECT_LT(outcome.most, 100);  // but not far in 1000 s
}

TEST(Accuracy, TheEnsembleIsMoreStableThanItsMembers) {
  const AssemblyOutcome calm = run(AssemblyTrial{.nodes = 6, .seconds = 3000}, 1);
  EXPECT_LT(calm.scale_adev, 0.7 * calm.member_adev);
  EXPECT_LT(calm.most_increment, 1);
}

TEST(Accuracy, NoMemberMovesTheScale) {
  const AssemblyTrial trial{.nodes = 5, .seconds = 3000, .disturbed = true, .hand_over = true};
  EXPECT_LT(run(trial, 1).most_increment, 2);
}

TEST(Accuracy, LimitsTheMemoryOfAnEstimator) { EXPECT_LE(Estimator::most_bytes(), 700'000U); }

TEST(Accuracy, ASeedDeterminesARun) {
  const Trial trial{.name = "twice", .out = "100us+exp:50us", .loss = 0.1, .seconds = 300};
  EXPECT_EQ(run(trial, 3).errors, run(trial, 3).errors);
  EXPECT_NE(run(trial, 3).errors, run(trial, 4).errors);
}

}  // namespace
}  // namespace tempo::clock::testing
