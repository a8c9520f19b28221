// tempo-lab as a user runs it: elections, clocks, and bad usage.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lab_program.h"

namespace tempo {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::string_view kMessageNames[] = {
    "masterreq", "masterack", "masterup", "slaveup", "election", "accept", "refuse", "conflict",
    "resolve",   "quit",      "ack",      "adjtime", "settime",  "loop",   "stale",  "masterdown"};

bool is_hash(const json& value) {
  const auto text = value.get<std::string>();
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// --- one run ---

// A seed has 64 bits; JSON numbers are exact up to 2^53 only.
TEST(OneRun, PrintsTheSeedAsAString) {
  EXPECT_EQ(lab_answer("sim election --nodes 3 --seed 18446744073709551615 --json")["seed"],
            "18446744073709551615");
}

// 20 survivors: Election 1, Accept 19, Ack 19, Masterup 1, Slaveup 19.
TEST(OneRun, HasTheCostOfThePaper) {
  json run = lab_answer("sim election --nodes 21 --scenario master-crash --repeats 0 --json");
  EXPECT_EQ(run["election_messages"], 59);
  EXPECT_EQ(run["nodes"], 21);
  EXPECT_EQ(run["survivors"], 20);
  EXPECT_EQ(run["masters"], 1);
  EXPECT_EQ(run["repeats_sent"], 0);
  EXPECT_EQ(run["violations"], json::array());
  EXPECT_EQ(run["messages"]["election"], 1);
  EXPECT_EQ(run["messages"]["accept"], 19);
  EXPECT_EQ(run["messages"]["masterup"], 1);
  EXPECT_EQ(run["messages"]["slaveup"], 19);
  EXPECT_EQ(run["messages"]["refuse"], 0);
}

TEST(OneRun, PrintsTheseFields) {
  json run = lab_answer("sim election --nodes 4 --loss 0.2 --json");
  for (const char* name : {"nodes", "survivors", "election_messages", "repeats_sent", "masters"})
    EXPECT_TRUE(run[name].is_number_unsigned()) << name;
  EXPECT_TRUE(run["time_to_master_s"].is_number_float());
  EXPECT_TRUE(run["violations"].is_array());
  EXPECT_TRUE(is_hash(run["trace_hash"]));
  ASSERT_TRUE(run["messages"].is_object());
  EXPECT_EQ(run["messages"].size(), std::size(kMessageNames));
  for (const std::string_view name : kMessageNames)
    EXPECT_TRUE(run["messages"][std::string(name)].is_number_unsigned()) << name;
}

// --- clocks ---

TEST(Clocks, PrintEveryFigure) {
  json run = lab_answer(
      "sim sync --clients 2 --jitter exp:10us --seconds 200 --discard 80 --seeds 2 --json");
  for (const char* name :
       {"rms_us", "p99_us", "max_us", "true_rms_us", "client_to_client_rms_us", "spread_p99_us",
        "converged_1ms_s", "converged_20us_s", "packets_per_second"}) {
    EXPECT_TRUE(run[name].is_number()) << name;
    EXPECT_GE(run[fmt::format("{}_worst", name)].get<double>(), run[name].get<double>()) << name;
  }
  EXPECT_EQ(run["bound_violations"], 0);
  EXPECT_GT(run["bound_width_us"]["median"].get<double>(), 200);
  for (const char* name : {"member_adev", "ensemble_adev"})
    for (const char* tau : {"1", "16", "64", "256", "1024"})
      EXPECT_TRUE(run[name][tau].is_number()) << name << ' ' << tau;
  EXPECT_TRUE(is_hash(run["config_hash"]));
  EXPECT_LT(run["rms_us"].get<double>(), 5);
}

TEST(OneRun, PrintsNullForTheTimeToAMasterIfThereIsNone) {
  const Ended ended = lab("sim election --nodes 3 --until 100ms --json");
  EXPECT_EQ(ended.status, 1);
  json run = data_in(ended);
  EXPECT_TRUE(run["time_to_master_s"].is_null());
  EXPECT_EQ(run["masters"], 0);
  ASSERT_EQ(run["violations"].size(), 1U);
  EXPECT_EQ(run["violations"][0]["property"], "one-master");
}

TEST(OneRun, PrintsATable) {
  const Ended ended = lab("sim election --nodes 21 --scenario master-crash --repeats 0");
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.err, IsEmpty());
  EXPECT_THAT(ended.out, ::testing::ContainsRegex("election messages +59\n"));
  EXPECT_THAT(ended.out, ::testing::ContainsRegex("nodes / survivors +21 / 20\n"));
}

TEST(OneRun, ComparesWithTheBaselines) {
  json run =
      lab_answer("sim election --nodes 9 --scenario master-crash --repeats 0 --baselines --json");
  ASSERT_GE(run["baselines"].size(), 2U);
  for (json& baseline : run["baselines"]) {
    EXPECT_EQ(baseline["one_leader"], true) << baseline;
    EXPECT_EQ(baseline["messages"], baseline["predicted"]) << baseline;
  }
}

// --- many runs ---

TEST(ManyRuns, PrintTheseFields) {
  json runs = lab_answer("sim election --nodes 5 --scenario master-crash --runs 40 --json");
  for (const char* name : {"runs", "one_master", "no_master", "several_masters", "ever_two_masters",
                           "collisions", "violations"})
    EXPECT_TRUE(runs[name].is_number_unsigned()) << name;
  EXPECT_EQ(runs["runs"], 40);
  EXPECT_EQ(runs["one_master"].get<int>() + runs["no_master"].get<int>() +
                runs["several_masters"].get<int>(),
            40);
  json& time = runs["time_to_master_s"];
  for (const char* name : {"mean", "p50", "p99", "max"})
    EXPECT_TRUE(time[name].is_number_float()) << name;
  EXPECT_LE(time["p50"], time["p99"]);
  EXPECT_LE(time["p99"], time["max"]);
  EXPECT_GT(time["mean"], 0);
  EXPECT_TRUE(runs["election_messages"]["mean"].is_number_float());
  EXPECT_TRUE(runs["election_messages"]["max"].is_number_unsigned());
  EXPECT_GT(runs["events_per_second"], 0);
  EXPECT_TRUE(is_hash(runs["trace_hash"]));
}

TEST(ManyRuns, AverageTheSingleRuns) {
  double sum = 0, longest = 0;
  for (int seed = 5; seed < 9; ++seed) {
    json run = lab_answer(
        fmt::format("sim election --nodes 4 --scenario master-crash --seed {} --json", seed));
    sum += run["time_to_master_s"].get<double>();
    longest = std::max(longest, run["time_to_master_s"].get<double>());
  }
  json runs = lab_answer("sim election --nodes 4 --scenario master-crash --seed 5 --runs 4 --json");
  EXPECT_NEAR(runs["time_to_master_s"]["mean"], sum / 4, 1e-9);
  EXPECT_EQ(runs["time_to_master_s"]["max"], longest);
}

// --- reproducibility ---

TEST(SameSeed, SameHashOnAnyNumberOfThreads) {
  const std::string line =
      "sim election --nodes 5 --scenario churn --loss 0.1 --seed 7 --runs 12 --json --threads ";
  json one = lab_answer(line + "1");
  json two = lab_answer(line + "2");
  EXPECT_EQ(one["trace_hash"], two["trace_hash"]);
  EXPECT_EQ(one["time_to_master_s"], two["time_to_master_s"]);
  EXPECT_EQ(one["election_messages"], two["election_messages"]);
  json other = lab_answer(
      "sim election --nodes 5 --scenario churn --loss 0.1 --seed 8 --runs 12 --json --threads 2");
  EXPECT_NE(other["trace_hash"], one["trace_hash"]);
}

// The hash comes from the program itself. The tests of lab/studies/election contain it too and run
// with sanitizers, so all builds compute the same bits. Update it when elections change on purpose,
// and compare two builds then.
TEST(SameSeed, SameHashInEveryBuild) {
  json run = lab_answer(
      "sim election --nodes 7 --scenario churn --loss 0.1 --duplicate 0.05 --reorder 0.1 "
      "--delay 100us+exp:200us --seed 42 --json");
  EXPECT_EQ(run["trace_hash"], "dcd7e27b2ee91d54");
}

// --- bad usage: an error message and status 2 ---

class BadUsage : public ::testing::TestWithParam<std::string_view> {};

TEST_P(BadUsage, PrintsAnError) {
  const Ended ended = lab(GetParam());
  EXPECT_EQ(ended.status, 2) << ended.err;
  EXPECT_THAT(ended.out, IsEmpty());
  const std::vector<std::string> lines = lines_of(ended.err);
  ASSERT_FALSE(lines.empty());
  EXPECT_THAT(lines[0], StartsWith("tempo-lab"));
  EXPECT_GT(lines[0].size(), 20U) << "a sentence";
  // Errors of the option parser are followed by the usage.
  if (lines.size() > 1) {
    EXPECT_THAT(lines[1], StartsWith("Usage: tempo-lab ")) << ended.err;
    EXPECT_THAT(lines.back(), StartsWith("See 'tempo-lab")) << ended.err;
    EXPECT_LE(lines.size(), 4U) << ended.err;
  }
}

TEST_P(BadUsage, PrintsAJsonObjectWithJson) {
  const Ended ended = lab(std::string(GetParam()) + " --json");
  EXPECT_EQ(ended.status, 2);
  EXPECT_TRUE(data_in(ended).is_null());
  const json error = error_in(ended);
  ASSERT_TRUE(error.is_object()) << ended.out;
  EXPECT_EQ(error["status"], 2);
  EXPECT_EQ(error["code"], "usage");
  EXPECT_GT(error_message(ended).size(), 10U);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadUsage,
    ::testing::Values(
        "sim sync --clients 0", "sim sync --liars 2", "sim sync --jitter fast",
        "sim sync --seconds 100 --discard 99", "", "dance", "sim", "sim dance", "--nodes 5",
        "sim election extra", "sim election --dance", "sim election --nodes",
        "sim election --nodes five", "sim election --nodes 0", "sim election --nodes -1",
        "sim election --nodes 2001", "sim election --nodes 99999999999",
        "sim election --nodes 3 --nodes 4", "sim election --nodes 1 --scenario master-crash",
        "sim election --nodes 3 --scenario missed-election", "sim election --scenario dance",
        "sim election --profile dance", "sim election --variant dance",
        "sim election --variant no-loop,", "sim election --election-timer 3s",
        "sim election --election-timer 3s..x", "sim election --election-timer 5s..3s",
        "sim election --election-timer 1ms..2ms", "sim election --repeats 5",
        "sim election --repeats x", "sim election --loss 1", "sim election --loss -0.1",
        "sim election --loss nan", "sim election --loss x", "sim election --duplicate 1",
        "sim election --reorder 1.5", "sim election --delay dance", "sim election --delay 0",
        "sim election --delay uniform:2ms..1ms",
        "sim election --scenario collision --delay exp:1ms", "sim election --seed x",
        "sim election --seed -1", "sim election --runs 0", "sim election --runs 1000001",
        "sim election --runs x", "sim election --threads x", "sim election --threads 257",
        "sim capacity --threads 257", "sim sync --threads 257",
        "sim app group-server --threads 257", "sim lock --threads 257", "sim ring --threads 257",
        "sim election --until 0", "sim election --until soon", "sim election --runs 2 --trace",
        "sim election --runs 2 --diagram -",
        "sim election --diagram /nonexistent/directory/election.html",
        "sim election --script /nonexistent/directory/election.txt",
        "sim election --baselines --nodes 1",
        "sim election --baselines --scenario master-crash --nodes 2", "play --nodes 2",
        "play --nodes 21", "play --seconds -1", "play --seconds x", "play --dance"),
    [](const auto& row) {
      std::string name = fmt::format("{}_{}", row.index, row.param);
      std::ranges::replace_if(
          name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
      return name;
    });

// --- violations ---

TEST(Violation, IsPrintedWithTheCommandThatReplaysIt) {
  const Ended ended = lab(kBroken);
  EXPECT_EQ(ended.status, 1);
  const std::vector<std::string> lines = lines_of(ended.err);
  ASSERT_GE(lines.size(), 2U);
  EXPECT_THAT(lines[0],
              AllOf(StartsWith("violated: one-master at "), EndsWith("are both masters")));
  ASSERT_THAT(lines.back(), StartsWith("replay: tempo-lab sim election "));
  const Ended again = lab(lines.back().substr(std::string_view("replay: tempo-lab ").size()));
  EXPECT_EQ(again.status, 1);
  EXPECT_EQ(again.out, ended.out);
  EXPECT_EQ(again.err, ended.err);
}

TEST(Violation, OfTheFirstRunIsReplayed) {
  const Ended ended = lab(std::string(kBroken) + " --runs 3 --seed 10 --json");
  EXPECT_EQ(ended.status, 1);
  EXPECT_GE(data_in(ended)["violations"], 3);
  EXPECT_EQ(data_in(ended)["seed"], "10");
  EXPECT_THAT(error_message(ended), EndsWith("--seed 10"));
}

}  // namespace
}  // namespace tempo
