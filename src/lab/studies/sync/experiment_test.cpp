#include "lab/studies/sync/experiment.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ostream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "lab/studies/sync/round.h"

namespace tempo::sim::sync {
namespace {

Experiment brief() {
  return {.up = *Delay::parse("100us+exp:10us"),
          .down = *Delay::parse("100us+exp:10us"),
          .seconds = 300,
          .discard = 150};
}

TEST(SyncExperiment, KeepsClocksTogetherInsideTheirBounds) {
  const Outcome outcome = run(brief());
  EXPECT_LT(outcome.rms, 2);
  EXPECT_GT(outcome.rms, 0.01) << "the simulated clocks must differ";
  EXPECT_LE(outcome.rms, outcome.p99);
  EXPECT_LE(outcome.p99, outcome.most);
  EXPECT_EQ(outcome.bound_violations, 0U);
  EXPECT_NEAR(outcome.least_trip, 200, 1);
  EXPECT_GT(outcome.bound_width, outcome.least_trip);
  EXPECT_GT(outcome.converged_1ms, 0);
  EXPECT_GE(outcome.converged_20us, outcome.converged_1ms);
  EXPECT_EQ(outcome.master_changes, 0U);
  EXPECT_EQ(outcome.steps, 0U);
}

// The first event of the node with this label in the picture of a round.
const Happening* first_in(const Round& round, NodeId node, What what, std::string_view label) {
  const auto& all = round.drawn->trace().happenings();
  const auto found = std::ranges::find_if(all, [&](const Happening& it) {
    return it.at >= round.from && it.at <= round.to && it.what == what &&
           (what == What::received ? it.peer : it.node) == node && it.label.starts_with(label);
  });
  return found == all.end() ? nullptr : &*found;
}
// Parses "corrects -698.7 us at once" and "off by +1.25 ms"; in microseconds.
double microseconds_in(std::string_view label) {
  const double value = std::atof(label.data() + label.find_first_of("+-"));
  return label.find("ms") != label.npos ? 1000 * value : value;
}

TEST(SyncRound, ClientsMeasureThenTheMasterAveragesThenClientsCorrect) {
  Experiment experiment = brief();
  experiment.clients = 3;
  experiment.up = experiment.down = *Delay::parse("2ms+exp:1ms");
  const Round round = first_round(experiment);
  const Happening* const averages = first_in(round, NodeId{0}, What::becomes, "averages 4 clocks");
  ASSERT_NE(averages, nullptr);
  for (const NodeId client : {NodeId{1}, NodeId{2}, NodeId{3}}) {
    const Happening* const off = first_in(round, client, What::becomes, "off by");
    const Happening* const asks = first_in(round, client, What::sent, "probe");
    const Happening* const hears = first_in(round, client, What::received, "echo");
    const Happening* const gets_adjtime = first_in(round, client, What::received, "adjtime");
    const Happening* const corrects = first_in(round, client, What::becomes, "corrects");
    for (const Happening* const it : {off, asks, hears, gets_adjtime, corrects})
      ASSERT_NE(it, nullptr);
    EXPECT_LT(off->at, asks->at);
    EXPECT_LT(asks->at, hears->at);
    EXPECT_LT(hears->at, averages->at);
    EXPECT_LT(averages->at, gets_adjtime->at);
    EXPECT_GE(corrects->at, gets_adjtime->at);
    // The measured offset is the true one, within the accuracy that such delays allow.
    EXPECT_NEAR(microseconds_in(corrects->label), -microseconds_in(off->label), 200)
        << corrects->label << ", " << off->label;
  }
  EXPECT_GT(round.before, 0ns);
  EXPECT_GT(round.after, 0ns);
}

TEST(SyncExperiment, SeedDeterminesTheRun) {
  const Outcome a = run(brief());
  const std::vector<Outcome> both = run_seeds(brief(), 2, 2);
  EXPECT_EQ(a.rms, both[0].rms);
  EXPECT_EQ(a.packets_per_second, both[0].packets_per_second);
  EXPECT_NE(a.rms, both[1].rms);
}

TEST(SyncExperiment, ConfigurationIsTheSameInAllCases) {
  Experiment loud = brief();
  loud.up = loud.down = *Delay::parse("100us+normal:1ms,100us");
  loud.rate = 4;
  loud.isolated = true;
  EXPECT_EQ(run(brief()).config_hash, run(loud).config_hash);
}

TEST(SyncExperiment, ReplacesAKilledMaster) {
  Experiment killed = brief();
  killed.kill_master_at = 200;
  const Outcome outcome = run(killed);
  EXPECT_EQ(outcome.master_changes, 1U);
  EXPECT_GT(outcome.election_spread, 0);
  EXPECT_EQ(outcome.bound_violations, 0U);
  EXPECT_EQ(outcome.steps, 0U) << "no clock is stepped when the master changes";
}

// The evaluation must leave out a client that lies, and keep the others.
TEST(SyncExperiment, LiarsAreNotEvaluated) {
  Experiment lies = brief();
  lies.clients = 6;
  lies.liars = {.count = 2, .lie = Lie::random};
  const Outcome outcome = run(lies);
  EXPECT_LT(outcome.rms, 2);
  EXPECT_EQ(outcome.bound_violations, 0U);
}

// Two of seven nodes lie from some time on.
Experiment with_liars(Lie lie, bool master) {
  Experiment seven = brief();
  seven.clients = 6;
  seven.seconds = 600;
  seven.lies_from = 400;
  seven.liars = {.count = 2, .lie = lie, .master = master};
  return seven;
}

struct Case {
  Lie lie;
  bool master;
};
void PrintTo(const Case& one, std::ostream* out) {
  *out << name_of(one.lie) << (one.master ? ", including the master" : "");
}
class Lies : public ::testing::TestWithParam<Case> {};

// Honest nodes keep the same time as if the liars had become silent, and their bounds hold all the
// time, also while a liar leads.
TEST_P(Lies, DoNotMoveHonestNodes) {
  const auto& [lie, master] = GetParam();
  const Outcome lied = run(with_liars(lie, master));
  const Outcome without = run(with_liars(Lie::gone, master));
  EXPECT_LE(apart(lied, without, 400, 600), 2);
  EXPECT_EQ(apart(lied, without, 1, 399), 0) << "both runs are equal until the first lie";
  EXPECT_EQ(lied.bound_violations, 0U);
  EXPECT_EQ(lied.master_changes > 0, master) << "only a lying master is deposed";
  // A drifting liar is deposed before its error reaches a millisecond; this is slewed.
  EXPECT_EQ(lied.steps, master && lie != Lie::drifting ? 1U : 0U)
      << "only the deposed master is stepped";
}
INSTANTIATE_TEST_SUITE_P(All, Lies,
                         ::testing::Values(Case{Lie::constant, false}, Case{Lie::drifting, false},
                                           Case{Lie::random, false}, Case{Lie::constant, true},
                                           Case{Lie::drifting, true}, Case{Lie::random, true}));

TEST(Liars, Parse) {
  ASSERT_TRUE(parse_liars("2:drifting").has_value());
  EXPECT_EQ(parse_liars("2:drifting")->count, 2U);
  EXPECT_EQ(parse_liars("2:drifting")->lie, Lie::drifting);
  for (const char* wrong :
       {"", "2", ":random", "2:", "2:none", "x:random", "2:random ", "-1:random"})
    EXPECT_FALSE(parse_liars(wrong).has_value()) << wrong;
}

TEST(Frequencies, Parse) {
  EXPECT_DOUBLE_EQ(*parse_frequency("50ppm"), 50e-6);
  EXPECT_DOUBLE_EQ(*parse_frequency("3ppb"), 3e-9);
  EXPECT_DOUBLE_EQ(*parse_frequency("2e-6"), 2e-6);
  for (const char* wrong : {"", "ppm", "5 ppm", "5hz"})
    EXPECT_FALSE(parse_frequency(wrong).has_value()) << wrong;
}

TEST(Disturbances, Parse) {
  const auto step = parse_disturbance("2:rate:-5ppm@200");
  ASSERT_TRUE(step.has_value());
  EXPECT_EQ(step->node, 2U);
  EXPECT_EQ(step->what, Disturbance::What::rate_step);
  EXPECT_DOUBLE_EQ(step->amount, -5e-6);
  EXPECT_EQ(step->until(), 200U);
  const auto jump = parse_disturbance("0:jump:+300us@7");
  ASSERT_TRUE(jump.has_value());
  EXPECT_EQ(jump->what, Disturbance::What::clock_jump);
  EXPECT_DOUBLE_EQ(jump->amount, 300e-6);
  const auto ramp = parse_disturbance("1:ramp:5ppm/300@100");
  ASSERT_TRUE(ramp.has_value());
  EXPECT_EQ(ramp->what, Disturbance::What::ramp);
  EXPECT_EQ(ramp->until(), 400U);
  for (const char* wrong : {"", "1", "1:rate", "1:rate:5ppm", "1:rate:5ppm@", "1:rate:5ppm@0",
                            "x:rate:5ppm@9", "1:rate:300ppm@9", "1:ramp:5ppm@9", "1:ramp:5ppm/0@9",
                            "1:jump:5ppm@9", "1:bend:5ppm@9", "1:rate:--5ppm@9", "1@9:rate:5ppm"})
    EXPECT_FALSE(parse_disturbance(wrong).has_value()) << wrong;
}

// --- faulty clocks, queues and machines ---

double excess_width(const Outcome& outcome) { return outcome.bound_width - outcome.least_trip; }

TEST(Oscillators, WhiteNoiseIsVisibleWithinASecond) {
  Experiment noisy = brief();
  noisy.white = 1e-7;
  EXPECT_GT(run(noisy).member_adev[0], 10 * run(brief()).member_adev[0]);
  EXPECT_NEAR(run(noisy).member_adev[0], 1e-7, 0.3e-7);
}

TEST(Oscillators, AgingAndTemperatureAreVisibleOverAMinute) {
  const double baseline = run(brief()).member_adev[2];
  Experiment aging = brief();
  aging.aging = 1e-9;
  // The rate grows by 64e-9 from one minute to the next.
  EXPECT_NEAR(run(aging).member_adev[2], 64e-9 / std::sqrt(2), 10e-9);
  Experiment warm = brief();
  warm.temperature = 100e-6;
  EXPECT_GT(run(warm).member_adev[2], 2 * baseline);
}

// Each client's clock changes its rate by `ppm`, one after the other, up and down.
Experiment with_rate_steps(double ppm, const std::string& jitter) {
  Experiment steps = brief();
  steps.up = steps.down = *Delay::parse("100us+exp:" + jitter);
  steps.seconds = 900;
  for (std::uint32_t i = 1; i <= 4; ++i)
    steps.disturbances.push_back(
        {.node = i, .amount = (i % 2 == 0 ? -1e-6 : 1e-6) * ppm, .from = 400 + 100 * (i - 1)});
  return steps;
}

// These broke hundreds of bounds while windows of the old rate counted.
TEST(RateSteps, KeepTheBound) {
  for (const double ppm : {1, 5, 20})
    for (const char* jitter : {"10us", "50us"})
      EXPECT_EQ(run(with_rate_steps(ppm, jitter)).bound_violations, 0U) << ppm << ' ' << jitter;
}

// With long delays 100 us of drift pass before any exchange can show them. The bound must allow for
// them before.
TEST(RateSteps, KeepABoundThatAllowsForThem) {
  Experiment steps = with_rate_steps(20, "500us");
  const auto broken = [&steps] {
    std::uint64_t sum = 0;
    for (const Outcome& outcome : run_seeds(steps, 4)) sum += outcome.bound_violations;
    return sum;
  };
  EXPECT_GT(broken(), 0U);
  steps.rate_jump_max = 20e-6;
  EXPECT_EQ(broken(), 0U);
}

TEST(RateSteps, AreFollowedSoon) {
  Experiment steps = with_rate_steps(5, "10us");
  steps.disturbances.resize(1);
  const Outcome outcome = run(steps);
  EXPECT_LT(outcome.most, 150);
  for (std::size_t second = 430; second < outcome.errors[0].size(); ++second)
    EXPECT_LT(std::abs(outcome.errors[0][second]), 15) << second;
}

// A slew would take 200 s.
TEST(Events, AClockThatIsCertainlyWrongIsStepped) {
  Experiment jump = brief();
  jump.disturbances = {
      {.node = 1, .what = Disturbance::What::clock_jump, .amount = 0.1, .from = 200}};
  const Outcome outcome = run(jump);
  EXPECT_EQ(outcome.steps, 1U);
  for (std::size_t second = 220; second < outcome.errors[0].size(); ++second)
    EXPECT_LT(std::abs(outcome.errors[0][second]), 50) << second;
}

TEST(Events, QueuesGrowTowardsTheMiddleOfTheHour) {
  Experiment loaded = brief();
  loaded.diurnal = 100;
  const Outcome baseline = run(brief());
  const Outcome outcome = run(loaded);
  EXPECT_GT(excess_width(outcome), 2 * excess_width(baseline));
  EXPECT_EQ(outcome.bound_violations, 0U);
}

TEST(Events, CrashedClientIsAwayForAMinute) {
  Experiment churn = brief();
  churn.churn = 100;
  const auto missed = [](const Outcome& outcome) {
    std::ptrdiff_t seconds = 0;
    for (const auto& errors : outcome.errors)
      seconds += std::ranges::count_if(errors.begin() + 100, errors.end(),
                                       [](double error) { return std::isnan(error); });
    return seconds;
  };
  EXPECT_EQ(missed(run(brief())), 0);
  const Outcome outcome = run(churn);
  // Clients that crash in seconds 100 and 200.
  EXPECT_NEAR(static_cast<double>(missed(outcome)), 2 * 60, 5);
  EXPECT_EQ(outcome.bound_violations, 0U);
}

// --- UTC ---

// Only the clocks that provide UTC are right.
Experiment with_utc(std::uint32_t trusted, std::uint32_t wrong = 0) {
  Experiment carried = brief();
  carried.clients = 5;
  carried.isolated = true;
  carried.frequency = 1e-6;
  carried.trusted = trusted;
  carried.utc_liars = wrong;
  carried.seconds = 8000;
  carried.discard = 6000;
  return carried;
}

TEST(Utc, NetworkFollowsItWithoutSteps) {
  const Outcome alone = run(with_utc(0));
  const Outcome outcome = run(with_utc(3));
  EXPECT_GT(alone.true_rms, 1000) << "an isolated network drifts away from UTC";
  EXPECT_LT(outcome.true_rms, 200);
  EXPECT_EQ(outcome.steps, 0U);
  EXPECT_EQ(outcome.bound_violations, 0U);
  EXPECT_LT(outcome.rms, 2) << "the clients follow their master";
}

TEST(Utc, MinorityIsOutvoted) {
  const Outcome outcome = run(with_utc(5, 2));
  EXPECT_LT(outcome.true_rms, 200);
  EXPECT_EQ(outcome.steps, 0U);
  EXPECT_EQ(outcome.bound_violations, 0U);
}

// Two against two: the network trusts neither, as if it had no UTC.
TEST(Utc, IsIgnoredWithoutAMajority) {
  Experiment torn = with_utc(4, 2);
  torn.seconds = 1000;
  torn.discard = 500;
  Experiment silent = torn;
  silent.trusted = silent.utc_liars = 0;
  EXPECT_EQ(run(torn).true_rms, run(silent).true_rms);
}

// The kernel clocks go back by a second. Network time follows slowly, within the limit of its rate;
// no clock is stepped or leaves its bound.
TEST(Utc, LeapSecondCausesNoStep) {
  Experiment leap = with_utc(3);
  leap.leap_at = 7000;
  const Outcome baseline = run(with_utc(3));
  const Outcome outcome = run(leap);
  EXPECT_EQ(outcome.steps, 0U);
  EXPECT_EQ(outcome.bound_violations, 0U);
  EXPECT_LT(outcome.bend, baseline.bend + 2);
  EXPECT_LT(outcome.rms, baseline.rms + 0.5);
  const double moved = std::abs(outcome.course.back() - baseline.course.back());
  EXPECT_GT(moved, 100) << "network time must start to follow";
  EXPECT_LT(moved, 50e3) << "network time must not follow the whole second at once";
}

}  // namespace
}  // namespace tempo::sim::sync
