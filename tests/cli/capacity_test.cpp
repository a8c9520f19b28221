// `tempo-lab sim capacity`, `tempo-lab check capacity` and `tempo-lab analyze algorithm-c`, as a
// user runs them.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lab_program.h"

namespace tempo {
namespace {

using ::testing::HasSubstr;

TEST(SimCapacity, SumsUpAllRuns) {
  json sum = lab_answer("sim capacity --algorithm b2 --nodes 4 --malicious 1 --runs 200 --json");
  EXPECT_EQ(sum["runs"], 200);
  EXPECT_EQ(sum["unique"], 200);
  EXPECT_EQ(sum["disagree"], 0);
  EXPECT_LE(sum["time_T"]["max"], 5.0);
  EXPECT_GE(sum["time_T"]["max"], sum["time_T"]["mean"]);
}

TEST(SimCapacity, CountsBroadcasts) {
  json sum = lab_answer("sim capacity --algorithm a --nodes 6 --candidates 2 --runs 50 --json");
  EXPECT_EQ(sum["broadcasts"]["mean"], 6.0);  // every node broadcasts once
  EXPECT_EQ(sum["time_T"]["max"], 1.0);
}

TEST(SimCapacity, DoesNotDependOnThreads) {
  const std::string command = "sim capacity --algorithm c --nodes 4 --loss 0.2 --runs 200 --json";
  json one = lab_answer(command + " --threads 1");
  json two = lab_answer(command + " --threads 2");
  for (const char* key : {"unique", "help", "several_masters", "rounds", "time_T", "broadcasts"})
    EXPECT_EQ(one[key], two[key]) << key;
}

TEST(SimCapacity, RunsOnAtomicBroadcast) {
  json sum = lab_answer(
      "sim capacity --algorithm b1 --broadcast atomic --start-skew 1ms --runs 50 --json");
  EXPECT_EQ(sum["unique"], 50);
  EXPECT_LE(sum["time_T"]["max"], 3.0);
}

TEST(SimCapacity, RefusesInvalidOptions) {
  struct Case {
    const char* options;
    const char* error;
  };
  for (const Case& wrong :
       {Case{"--algorithm b2 --nodes 6 --malicious 2", "--malicious 2 needs at least 7 nodes"},
        Case{"--algorithm a --loss 0.1", "--loss is for --algorithm c"},
        Case{"--algorithm d", "one of a, b1, b2, b2-unordered, c"},
        Case{"--algorithm b1 --malicious 1 --nodes 4", "tolerate no malicious node"},
        Case{"--candidates 9", "--candidates must be from 1 to 5"}}) {
    const Ended ended = lab(std::string("sim capacity ") + wrong.options);
    EXPECT_EQ(ended.status, 2) << wrong.options;
    EXPECT_THAT(ended.err, HasSubstr(wrong.error));
  }
}

TEST(CheckCapacity, FindsThatThePrintedB2IsNotUnique) {
  const std::string command = "check capacity --algorithm b2 --nodes 4 --malicious 1 --json";
  json sound = lab_answer(command);
  EXPECT_EQ(sound["complete"], true);
  EXPECT_EQ(sound["violations"], json::array());
  for (const char* key :
       {"states", "transitions", "seconds", "states_per_second", "bytes_per_state", "assumptions"})
    EXPECT_TRUE(sound.contains(key)) << key;
  const Ended printed = lab(command + " --variant as-printed");
  EXPECT_EQ(printed.status, 1);
  json broken = data_in(printed);
  ASSERT_EQ(broken["violations"].size(), 1U);
  EXPECT_EQ(broken["violations"][0]["property"], "unique");
  EXPECT_EQ(broken["violations"][0]["steps"], broken["violations"][0]["trace"].size());
}

TEST(CheckCapacity, DescribesTheSteps) {
  const Ended late = lab("check capacity --algorithm a --start-skew 1");
  EXPECT_EQ(late.status, 1);
  EXPECT_THAT(late.out, HasSubstr("unique is violated"));
  EXPECT_THAT(late.out, HasSubstr("comes too early"));
  EXPECT_THAT(late.out, HasSubstr("= stop, elects 2"));
}

TEST(CheckCapacity, RefusesInvalidOptions) {
  for (const char* line :
       {"--algorithm d", "--nodes 1", "--nodes 8", "--algorithm b2 --nodes 3 --malicious 1",
        "--malicious 1", "--losses 1", "--algorithm b1 --start-skew 1", "--algorithm a --together",
        "--candidates 4", "--delay 0", "--crashes 3", "--algorithm b2 --crashes 1",
        "--variant printed", "--memory x", "--threads 3"}) {
    const Ended ended = lab(std::string("check capacity ") + line);
    EXPECT_EQ(ended.status, 2) << line;
    EXPECT_EQ(ended.out, "") << line;
    EXPECT_THAT(ended.err, ::testing::StartsWith("tempo-lab: ")) << line;
    EXPECT_EQ(count(ended.err, "\n"), 1U) << line;
  }
}

TEST(AnalyzeAlgorithmC, PrintsTheExactChain) {
  // E[N|2] = (1 + 1*(9/10)) / (1 - 1/10): golden value.
  json chain = lab_answer("analyze algorithm-c --loss 1/10 --candidates 1..3 --json");
  ASSERT_EQ(chain["E"].size(), 3U);
  EXPECT_EQ(chain["E"][1]["a"], 2);
  EXPECT_EQ(chain["E"][1]["fraction"], "19/9");
  EXPECT_EQ(chain["E"][2]["fraction"], "2119/999");
  EXPECT_EQ(chain["P"][1]["fraction"], "9/10");  // P(2,1)
  EXPECT_GE(chain["E"][2]["decimal"].get<std::string>().size(), 21U);
  EXPECT_EQ(lab("analyze algorithm-c --loss 1").status, 2);
  EXPECT_EQ(lab("analyze algorithm-c --candidates 0..3").status, 2);
}

}  // namespace
}  // namespace tempo
