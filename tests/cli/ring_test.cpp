// `tempo-lab sim ring`, `tempo-lab sim merge`, `tempo-lab analyze` and `tempo-lab check ring` as a
// user runs them.
#include <cmath>
#include <fstream>
#include <string>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lab_program.h"

namespace tempo {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(AnalyzeRing, PrintsFractionsAndDecimals) {
  // n = 3, m = 2: golden values from an enumeration.
  json ring = lab_answer("analyze ring --stations 3 --range 2 --rounds 1..4 --json");
  ASSERT_EQ(ring["P"].size(), 4U);
  EXPECT_EQ(ring["P"][0]["fraction"], "0");
  EXPECT_EQ(ring["P"][1]["k"], 2);
  EXPECT_EQ(ring["P"][1]["fraction"], "3/8");
  EXPECT_EQ(ring["P"][1]["decimal"], "0.375");
  EXPECT_EQ(ring["mean"]["fraction"], "10/3");
  EXPECT_EQ(ring["variance"]["fraction"], "22/9");
  EXPECT_EQ(ring["mean"]["decimal"].get<std::string>().substr(0, 32),
            "3.333333333333333333333333333333");
}

TEST(AnalyzeRing, OmitsLongFractionsAndPrintsThirtyDigits) {
  json ring = lab_answer("analyze ring --stations 40 --range 16 --rounds 3..4 --json");
  EXPECT_FALSE(ring["mean"].contains("fraction"));
  EXPECT_GE(ring["mean"]["decimal"].get<std::string>().size(), 31U);
  EXPECT_GE(ring["P"][0]["decimal"].get<std::string>().size(), 31U);
}

TEST(AnalyzeRing, CountsChainsAndMoments) {
  json ring =
      lab_answer("analyze ring --stations 3 --range 3 --rounds 2 --moments 3 --chains --json");
  ASSERT_EQ(ring["chains"].size(), 3U);
  EXPECT_EQ(ring["chains"][1]["R"], "21");
  EXPECT_EQ(ring["chains"][0]["Ltilde"], "10");
  EXPECT_EQ(ring["moments"].size(), 3U);
}

TEST(AnalyzeRing, DrawsABarForEachRound) {
  const Ended ended = lab("analyze ring --stations 3 --range 2");
  EXPECT_EQ(ended.status, 0);
  EXPECT_THAT(ended.out, HasSubstr(" 2  0.375"));
  EXPECT_THAT(ended.out, HasSubstr("██"));
}

TEST(AnalyzeOthers, PrintGoldenValues) {
  EXPECT_EQ(lab_answer("analyze anonymous-ring --stages 5 --json")["two_leaders"]["fraction"],
            "11/64");
  EXPECT_EQ(lab_answer("analyze anonymous-ring --stages 2 --candidates 3 "
                       "--json")["two_leaders"]["fraction"],
            "1/4");
  json phases = lab_answer("analyze anonymous-ring --stages 5 --stations 3 --json");
  EXPECT_EQ(phases["mean_phases"]["fraction"], "9/4");
  json collision = lab_answer("analyze collision --daemons 2 --window 1/100 --width 540 --json");
  EXPECT_EQ(collision["P"]["fraction"], "107999/2916000000");
  EXPECT_NEAR(collision["bound"].get<double>(), 3.7037037037e-05, 1e-12);
  EXPECT_EQ(lab_answer("analyze collision --daemons 2 --window 10ms --width 9min --json")["P"],
            collision["P"]);
  for (const char* line :
       {"analyze anonymous-ring --stages 6", "analyze collision --daemons 9 --window 1 --width 60"})
    EXPECT_THAT(lab(line).out, HasSubstr("█")) << line;
}

TEST(SimRing, PrintsTheseFields) {
  json ring = lab_answer("sim ring --stations 6 --range 4 --runs 50 --json");
  EXPECT_EQ(ring["leaders"]["1"], 50);
  for (const char* name : {"rounds", "productive_rounds"})
    for (const char* part : {"mean", "var"}) EXPECT_TRUE(ring[name][part].is_number()) << name;
  EXPECT_DOUBLE_EQ(ring["hops"]["mean"].get<double>(),
                   6 * (ring["rounds"]["mean"].get<double>() + 1));
  EXPECT_EQ(ring["announcement_hops"]["mean"], 6.0);
  EXPECT_GT(ring["bits"]["mean"].get<double>(), ring["hops"]["mean"].get<double>());
  EXPECT_LE(ring["buffer_max"].get<int>(), 6);
  EXPECT_EQ(ring["wins"].size(), 6U);
  EXPECT_EQ(ring["violations"], 0);

  json anonymous =
      lab_answer("sim ring --kind anonymous --stations 5 --stages 3 --gamma 0.5 --runs 40 --json");
  EXPECT_TRUE(anonymous["phases"]["mean"].is_number());
  EXPECT_TRUE(anonymous["messages"]["mean"].is_number());
  EXPECT_EQ(anonymous["bits"]["mean"].get<double>(),
            2 * anonymous["messages"]["mean"].get<double>());
}

TEST(SimRing, ElectsUnderLossAndCrashes) {
  json ring = lab_answer("sim ring --stations 6 --loss 0.1 --crash 2 --runs 30 --json");
  EXPECT_EQ(ring["leaders"]["1"], 30);
  EXPECT_EQ(ring["violations"], 0);
}

TEST(SimRing, FindsThatThePrintedNextTimerNeverEnds) {
  json ring = lab_answer(
      "sim ring --kind anonymous --stations 3 --stages 2 --variant printed-next-timer --runs 20 "
      "--json");
  EXPECT_GT(ring["leaders"].value("0", 0), 5);
}

TEST(SimRing, DoesNotDependOnThreadsOrShards) {
  for (const char* kind :
       {"--stations 5 --range 4 --runs 41", "--stations 9 --range 5 --runs 20000 --fast",
        "--kind anonymous --stations 5 --stages 3 --runs 20000 --fast"}) {
    const std::string line = fmt::format("sim ring {} --json", kind);
    json whole = lab_answer(line + " --threads 1");
    EXPECT_EQ(whole["counts"], lab_answer(line + " --threads 2")["counts"]);
    const TemporaryFile first("ring_1"), second("ring_2"), third("ring_3");
    int number = 0;
    for (const TemporaryFile* file : {&first, &second, &third})
      std::ofstream(file->path()) << lab(fmt::format("{} --shard {}/3", line, ++number)).out;
    json merged = lab_answer(
        fmt::format("sim merge --json {} {} {}", third.path(), first.path(), second.path()));
    EXPECT_EQ(merged["counts"], whole["counts"]) << kind;
    EXPECT_EQ(merged["rounds"], whole["rounds"]);
    EXPECT_EQ(lab(fmt::format("sim merge {0} {0}", first.path())).status, 2);
    const Ended partial = lab(fmt::format("sim merge {}", first.path()));
    EXPECT_EQ(partial.status, 0);
    EXPECT_THAT(partial.err, HasSubstr("give the missing shards too"));
  }
}

TEST(SimRing, FastAgreesWithTheExactMean) {
  json drawn = lab_answer("sim ring --stations 64 --range 16 --runs 200000 --fast --json");
  json exact = lab_answer("analyze ring --stations 64 --range 16 --rounds 1 --json");
  const double mean = std::stod(exact["mean"]["decimal"].get<std::string>());
  const double variance = std::stod(exact["variance"]["decimal"].get<std::string>());
  EXPECT_LT(std::abs(drawn["rounds"]["mean"].get<double>() - mean),
            4 * std::sqrt(variance / 200'000));
}

TEST(CheckRing, ExploresAllStates) {
  json sound = lab_answer("check ring --stations 3 --json");
  EXPECT_EQ(sound["complete"], true);
  EXPECT_EQ(sound["violations"], json::array());
  const Ended printed = lab(
      "check ring --kind anonymous --stations 2 --stages 1 --variant printed-next-timer --json");
  EXPECT_EQ(printed.status, 1);
  json broken = data_in(printed);
  ASSERT_EQ(broken["violations"].size(), 1U);
  EXPECT_EQ(broken["violations"][0]["property"], "can-always-come-good");
  EXPECT_GT(broken["violations"][0]["steps"].get<int>(), 0);
  EXPECT_GT(broken["violations"][0]["cycle"].get<int>(), 0);
}

TEST(Rings, RefuseInvalidOptions) {
  for (const char* line : {"sim ring --kind square",
                           "sim ring --stations 0",
                           "sim ring --range 1",
                           "sim ring --loss 0.9",
                           "sim ring --crash 8 --stations 8",
                           "sim ring --variant corrected",
                           "sim ring --kind anonymous --gamma 0",
                           "sim ring --kind anonymous --gamma 1.5",
                           "sim ring --shard 5/4",
                           "sim ring --shard x",
                           "sim ring --fast --loss 0.1",
                           "sim ring --runs 0",
                           "sim ring --kind anonymous --faulty 1",
                           "sim merge /nowhere",
                           "analyze ring --stations 0",
                           "analyze ring --rounds 3..1",
                           "analyze ring --range 1",
                           "analyze ring --moments 99",
                           "analyze anonymous-ring --stages 0",
                           "analyze anonymous-ring --candidates 1",
                           "analyze collision --window x --width 1",
                           "analyze collision --window 1 --width 0",
                           "check ring --stations 9",
                           "check ring --crashes 3",
                           "check ring --variant corrected"}) {
    const Ended ended = lab(line);
    EXPECT_EQ(ended.status, 2) << line;
    EXPECT_EQ(ended.out, "") << line;
    EXPECT_THAT(ended.err, StartsWith("tempo-lab: ")) << line;
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << line;
  }
}

}  // namespace
}  // namespace tempo
